import assert from "node:assert/strict";
import { test } from "vitest";
import { ProbeManager } from "../../../src/kubelet/prober/manager.js";
import type { ProbeSubject } from "../../../src/kubelet/prober/prober.js";
import { ProberMetrics } from "../../../src/kubelet/prober/prober-metrics.js";
import { ProbeResultsManager } from "../../../src/kubelet/prober/results.js";
import type { V1ContainerState, V1Pod, V1PodStatus } from "../../../src/staging/apimachinery/api/pod.js";
import { containerStatus } from "../../support/container-status.js";
import { FakeClock, FakeRandom, START_MS, settle } from "../../support/fake-clock.js";
import { parseMetrics, sampleOf } from "../../support/prometheus.js";
import { recordingTrace } from "../../support/trace.js";

type Answer = "success" | "failure" | undefined;
const PERIOD = { periodSeconds: 10, failureThreshold: 3, successThreshold: 1, tcpSocket: { port: 80 } };
const at = (ms: number) => new Date(ms).toISOString();
const running = (id = "c1", more: object = {}, startedMs = START_MS): V1PodStatus => ({
  phase: "Running",
  containerStatuses: [
    containerStatus({
      containerID: `test://${id}`,
      state: { running: { startedAt: at(startedMs) } },
      started: true,
      ...more,
    }),
  ],
});

class Lab {
  readonly clock = new FakeClock();
  readonly random = new FakeRandom();
  readonly probes: string[] = [];
  readonly traced = recordingTrace(this.clock);
  answer: Answer = "success";
  status: V1PodStatus | undefined = running();
  readonly manager: ProbeManager;

  constructor(kubeVersion = "1.25") {
    const deps = {
      prober: { probe: (subject: ProbeSubject) => this.#probe(subject) },
      statusManager: { getPodStatus: () => this.status },
      clock: this.clock,
      random: this.random,
      trace: this.traced.trace,
    };
    this.manager = new ProbeManager(deps, { kubeVersion });
  }

  async #probe({ type, apiContainerId }: ProbeSubject): Promise<Answer> {
    this.probes.push(`${(this.clock.now() - START_MS) / 1000} ${type} ${apiContainerId}`);
    return this.answer;
  }

  /** The random wait at the start is over, and the first probe done. */
  async add(probes: object, pod: object = {}, metadata: object = {}): Promise<V1Pod> {
    const added: V1Pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p", namespace: "ns", uid: "u", ...metadata },
      spec: { restartPolicy: "Always", containers: [{ name: "app", ...probes }], ...pod },
      status: {},
    };
    this.manager.addPod(added);
    await this.clock.advance(5_000);
    return added;
  }

  /** All changes so far: `failure success`. */
  changes(type: "liveness" | "readiness" | "startup" = "liveness"): string {
    const all = only(this.traced.events).filter(({ what }) => what === `${type} probe`);
    return all.map(({ to }) => to).join(" ");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.manager.close();
    assert.equal(this.clock.sleeping, 0, "no wait is left behind");
    assert.equal(this.manager.workers, 0);
  }
}

function only(events: readonly { readonly kind: string }[]) {
  return events.filter(
    (event): event is { kind: "state"; what: string; to: string; from?: string } => event.kind === "state",
  );
}

test("probe worker: waits a random part of a period when the kubelet has just started, then probes each period", async () => {
  await using lab = new Lab();
  await lab.add({ livenessProbe: PERIOD });
  await lab.clock.advance(25_000);
  assert.deepEqual(
    lab.probes,
    [5, 15, 25].map((s) => `${s} liveness test://c1`),
  );
});

test("probe worker: begins at once when the kubelet runs for long", async () => {
  await using lab = new Lab();
  await lab.clock.advance(60_000);
  await lab.add({ livenessProbe: PERIOD });
  assert.deepEqual(lab.probes, ["60 liveness test://c1"]);
});

test("liveness: succeeds until failureThreshold failures in a row, then on hold until a new container", async () => {
  await using lab = new Lab();
  await lab.add({ livenessProbe: PERIOD });
  lab.answer = "failure";
  await lab.clock.advance(20_000);
  lab.answer = "success";
  await lab.clock.advance(10_000);
  assert.equal(lab.changes(), "success");
  lab.answer = "failure";
  await lab.clock.advance(30_000);
  assert.equal(lab.changes(), "success failure");
  const { length } = lab.probes;
  await lab.clock.advance(30_000);
  assert.equal(lab.probes.length, length, "the container is about to be restarted: it is left alone");
  lab.status = running("c2", {}, lab.clock.now());
  await lab.clock.advance(10_000);
  assert.equal(lab.changes(), "success failure success");
  assert.equal(lab.manager.livenessManager.get("c1"), undefined);
  assert.equal(lab.manager.livenessManager.get("c2"), "success");
});

test("readiness: not ready at first, ready again after enough successes, never on hold", async () => {
  await using lab = new Lab();
  lab.answer = "failure";
  await lab.add({ readinessProbe: { ...PERIOD, failureThreshold: 1, successThreshold: 2 } });
  await lab.clock.advance(20_000);
  lab.answer = "success";
  await lab.clock.advance(10_000);
  assert.equal(lab.changes("readiness"), "failure");
  await lab.clock.advance(10_000);
  assert.equal(lab.changes("readiness"), "failure success");
  lab.answer = "failure";
  await lab.clock.advance(10_000);
  assert.equal(lab.changes("readiness"), "failure success failure");
});

test("a probe that could not be carried out changes nothing", async () => {
  await using lab = new Lab();
  lab.answer = undefined;
  await lab.add({ livenessProbe: { ...PERIOD, failureThreshold: 1 } });
  await lab.clock.advance(30_000);
  assert.equal(lab.changes(), "success");
});

const waits: readonly (readonly [string, object, V1PodStatus | undefined, number])[] = [
  ["no status yet", { livenessProbe: PERIOD }, undefined, 0],
  ["no container yet", { livenessProbe: PERIOD }, { phase: "Pending" }, 0],
  ["not started yet: liveness waits", { livenessProbe: PERIOD }, running("c1", { started: false }), 0],
  ["not started yet: readiness waits", { readinessProbe: PERIOD }, running("c1", { started: false }), 0],
  ["not started yet: startup probes", { startupProbe: PERIOD }, running("c1", { started: false }), 3],
  ["started: the startup probe rests", { startupProbe: PERIOD }, running(), 0],
  ["the initial delay", { livenessProbe: { ...PERIOD, initialDelaySeconds: 20 } }, running(), 1],
];
for (const [name, probes, status, want] of waits) {
  test(`probe worker: ${name}`, async () => {
    await using lab = new Lab();
    lab.status = status;
    await lab.add(probes);
    await lab.clock.advance(20_000);
    assert.equal(lab.probes.length, want);
    assert.equal(lab.manager.workers, 1);
  });
}

const ended = (exitCode = 0): V1ContainerState => ({ terminated: { exitCode } });
const ends: readonly (readonly [string, V1PodStatus, object, object, number])[] = [
  ["the pod is over", { phase: "Failed" }, {}, {}, 0],
  ["the container has ended and stays so", running("c1", { state: ended() }), { restartPolicy: "Never" }, {}, 0],
  ["the container has ended and comes back", running("c1", { state: ended() }), {}, {}, 1],
  ["the pod is being deleted", running(), {}, { deletionTimestamp: at(START_MS) }, 0],
];
for (const [name, status, spec, metadata, workers] of ends) {
  test(`probe worker: ${name}: ${workers === 0 ? "it ends" : "it stays"}`, async () => {
    await using lab = new Lab();
    lab.status = status;
    await lab.add({ livenessProbe: PERIOD }, spec, metadata);
    assert.equal(lab.manager.workers, workers);
    assert.deepEqual(lab.probes, []);
  });
}

test("probe manager: each probe has a worker; which pods it keeps", async () => {
  await using lab = new Lab();
  const all = { livenessProbe: PERIOD, readinessProbe: PERIOD, startupProbe: PERIOD };
  const pod = await lab.add(all, {
    initContainers: [{ name: "side", restartPolicy: "Always", readinessProbe: PERIOD }],
  });
  lab.manager.addPod(pod);
  assert.equal(lab.manager.workers, 4);
  lab.manager.stopLivenessAndStartup(pod);
  assert.equal(lab.manager.workers, 2);
  lab.manager.cleanupPods(new Set(["u"]));
  assert.equal(lab.manager.workers, 2);
  lab.manager.cleanupPods(new Set());
  assert.equal(lab.manager.workers, 0);
  await settle();
  assert.equal(lab.clock.sleeping, 0);
});

const statuses: readonly (readonly [string, object, "success" | "failure" | "none", object, string])[] = [
  ["no probes, running", {}, "none", {}, "started ready"],
  ["no probes, waiting", {}, "none", { state: { waiting: {} } }, "- -"],
  ["a startup probe that has not succeeded", { startupProbe: PERIOD }, "failure", { started: false }, "- -"],
  ["a startup probe that has", { startupProbe: PERIOD }, "success", { started: false }, "started ready"],
  ["a readiness probe that has not succeeded", { readinessProbe: PERIOD }, "failure", {}, "started -"],
  ["a readiness probe that has", { readinessProbe: PERIOD }, "success", {}, "started ready"],
];
for (const [name, probes, answer, more, want] of statuses) {
  test(`probe manager: status with ${name}: ${want}`, async () => {
    await using lab = new Lab();
    lab.answer = answer === "none" ? undefined : answer;
    lab.status = running("c1", more);
    const pod = await lab.add(probes);
    const status = lab.manager.updatePodStatus(pod, lab.status);
    const [one] = status.containerStatuses ?? [];
    assert.equal(`${one?.started ? "started" : "-"} ${one?.ready ? "ready" : "-"}`, want);
  });
}

test("probe manager: asking for a status that is not ready makes the readiness probe ask at once", async () => {
  await using lab = new Lab();
  lab.answer = "failure";
  const pod = await lab.add({ readinessProbe: PERIOD });
  assert.equal(lab.probes.length, 1);
  lab.manager.updatePodStatus(pod, running());
  await settle();
  assert.equal(lab.probes.length, 2);
});

for (const [release, started] of [
  ["1.25", [undefined, undefined, undefined]],
  ["1.28", [false, false, true]],
] as const) {
  test(`probe manager: v${release}: init containers are ready when they have ended well`, async () => {
    await using lab = new Lab(release);
    const pod = await lab.add({}, { initContainers: [{ name: "a" }, { name: "b" }, { name: "c" }] });
    const status = lab.manager.updatePodStatus(pod, {
      initContainerStatuses: [
        containerStatus({ name: "a", state: ended(0) }),
        containerStatus({ name: "b", state: ended(1) }),
        containerStatus({ name: "c", state: { running: {} } }),
      ],
    });
    const inits = status.initContainerStatuses ?? [];
    assert.deepEqual(
      inits.map(({ ready }) => ready),
      [true, false, false],
    );
    assert.deepEqual(
      inits.map((one) => one.started),
      started,
    );
  });
}

test("probe results: changes reach the sync loop, once each", async () => {
  const results = new ProbeResultsManager();
  const pod = { metadata: { name: "p", namespace: "ns", uid: "u" } } as V1Pod;
  assert.deepEqual(results.set("test://c1", "success", pod), { before: undefined });
  assert.equal(results.set("test://c1", "success", pod), undefined);
  assert.deepEqual(results.set("test://c1", "failure", pod), { before: "success" });
  results.close();
  const seen: string[] = [];
  for await (const { podUid, containerId, result } of results.updates()) {
    seen.push(`${podUid} ${containerId} ${result}`);
  }
  assert.deepEqual(seen, ["u test://c1 success", "u test://c1 failure"]);
});

test("probe worker: a result begins a chain, and its fact is the cause of the sync", async () => {
  await using lab = new Lab();
  await lab.add({ livenessProbe: { ...PERIOD, failureThreshold: 1 } });
  lab.answer = "failure";
  await lab.clock.advance(10_000);
  const { events } = lab.traced;
  const failed = events.find((event) => event.kind === "state" && event.to === "failure");
  assert.deepEqual([failed?.origin, failed?.pod], ["timer", "ns/p"]);
  const stop = new AbortController();
  const results = [];
  for await (const { result, scope } of lab.manager.livenessManager.updates(stop.signal)) {
    results.push([result, scope?.causedBy]);
    if (result === "failure") break;
  }
  assert.deepEqual(results.at(-1), ["failure", failed?.id]);
});

test("probe worker: its view has the last probes beside the result that holds until there are enough of them", async () => {
  await using lab = new Lab();
  await lab.add({ readinessProbe: { ...PERIOD, periodSeconds: 5 } });
  const view = () => lab.manager.views().map(({ pod, type, result, last }) => [pod, type, result, last]);
  assert.deepEqual(view(), [["ns/p", "readiness", "success", { result: "success", count: 1 }]]);
  lab.answer = "failure";
  await lab.clock.advance(10_000);
  assert.deepEqual(view(), [["ns/p", "readiness", "success", { result: "failure", count: 2 }]]);
  await lab.clock.advance(5_000);
  assert.deepEqual(view(), [["ns/p", "readiness", "failure", { result: "failure", count: 3 }]]);
});

test("probes are counted by result and timed, for /metrics/probes, until their pod goes", async () => {
  const lab = new Lab();
  const pod = await lab.add({ readinessProbe: PERIOD });
  lab.answer = "failure";
  await lab.clock.advance(20_000);
  const timed = { container: "app", namespace: "ns", pod: "p", probe_type: "Readiness" };
  const counted = { ...timed, pod_uid: "u" };
  const read = async () => {
    const families = parseMetrics(await lab.manager.metrics.text());
    const totals = ["failed", "successful", "unknown"].map((result) =>
      sampleOf(families, "prober_probe_total", { ...counted, result }),
    );
    return [...totals, sampleOf(families, "prober_probe_duration_seconds_count", timed)];
  };
  assert.deepEqual(await read(), [2, 1, undefined, 1]);
  lab.manager.removePod(pod);
  await settle();
  assert.deepEqual(await read(), [undefined, undefined, undefined, undefined]);
  assert.equal(sampleOf(parseMetrics(await lab.manager.metrics.text()), "process_start_time_seconds"), START_MS / 1000);
});

const names = [
  ["web", undefined, {}, "web"],
  ["web-6b7f-x2", "web-6b7f-", { "pod-template-hash": "6b7f" }, "web"],
  ["daemon-x2", "daemon-", {}, "daemon"],
] as const;
for (const [name, generateName, labels, want] of names) {
  test(`the probes of pod ${name} are counted under the name ${want}`, async () => {
    const metrics = new ProberMetrics(0);
    const metadata = { name, namespace: "ns", uid: "u", labels, ...(generateName && { generateName }) };
    const pod = { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [] }, status: {} };
    metrics.count({ type: "liveness", pod, container: { name: "app" } }, "unknown", 30);
    const families = parseMetrics(await metrics.text());
    const pods = ["prober_probe_total", "prober_probe_duration_seconds"].map(
      (family) => families.get(family)?.samples[0]?.labels["pod"],
    );
    assert.deepEqual(pods, [want, want]);
    assert.equal(families.get("prober_probe_duration_seconds")?.samples.at(-2)?.value, 0.03);
  });
}
