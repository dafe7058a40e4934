import assert from "node:assert/strict";
import { test } from "vitest";
import { setDefaults } from "../../../src/kubelet/apis/config/defaults.js";
import type { KubeletConfigurationFields } from "../../../src/kubelet/apis/config/fields.js";
import { groupByPriority, shutdownPeriods } from "../../../src/kubelet/nodeshutdown/groups.js";
import { NodeShutdownManager } from "../../../src/kubelet/nodeshutdown/manager.js";
import { asPod, type V1Pod, type V1PodStatus } from "../../../src/staging/apimachinery/api/pod.js";
import { CountedMetrics } from "../../support/counted.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";

function makePod(name: string, priority: number | undefined, graceSeconds = 30): V1Pod {
  const spec = {
    containers: [],
    terminationGracePeriodSeconds: graceSeconds,
    ...(priority === undefined ? {} : { priority }),
  };
  const pod = asPod({ kind: "Pod", apiVersion: "v1", metadata: { name, namespace: "d", uid: name }, spec });
  assert.ok(pod);
  return pod;
}

const CRITICAL = 2_000_001_000;

const groups: readonly [KubeletConfigurationFields, string][] = [
  [{}, ""],
  [{ shutdownGracePeriod: "30s", shutdownGracePeriodCriticalPods: "10s" }, "0/20: low none high, 2000000000/10: crit"],
  [{ shutdownGracePeriod: "30s" }, "0/30: low none high, 2000000000/0: crit"],
  [
    {
      shutdownGracePeriodByPodPriority: [
        { priority: 1000, shutdownGracePeriodSeconds: 5 },
        { priority: 10, shutdownGracePeriodSeconds: 60 },
      ],
    },
    "10/60: low none, 1000/5: high crit",
  ],
  [{ shutdownGracePeriod: "30s", featureGates: { GracefulNodeShutdown: false } }, ""],
];
for (const [fields, want] of groups) {
  test(`shutdown: ${JSON.stringify(fields)} gives the groups [${want}]`, () => {
    const pods = [makePod("low", 1), makePod("none", undefined), makePod("high", 5000), makePod("crit", CRITICAL)];
    const found = groupByPriority(shutdownPeriods(setDefaults(fields, "1.25")), pods);
    const texts = found.map((one) => {
      return `${one.priority}/${one.gracePeriodSeconds}: ${one.pods.map(({ metadata }) => metadata.name).join(" ")}`;
    });
    assert.equal(texts.join(", "), want);
  });
}

/** @param endsAfterMs of each pod, once it is told to end */
function start(
  pods: readonly V1Pod[],
  endsAfterMs: Readonly<Record<string, number>>,
  kubeVersion = "1.25",
  writeStatuses: (pods: readonly V1Pod[]) => Promise<readonly V1Pod[]> = async () => [],
) {
  const clock = new FakeClock();
  const { trace, events } = recordingTrace(clock);
  const startMs = clock.now();
  const told: string[] = [];
  const statuses: V1PodStatus[] = [];
  let syncs = 0;
  const metrics = new CountedMetrics();
  const fields = { shutdownGracePeriod: "30s", shutdownGracePeriodCriticalPods: "10s" };
  const manager = new NodeShutdownManager(
    {
      clock,
      trace,
      metrics,
      getActivePods: () => pods,
      killPod: async (pod, seconds, statusFunc, signal) => {
        told.push(`${(clock.now() - startMs) / 1000} s: ${pod.metadata.name} in ${seconds} s`);
        statuses.push(statusFunc({ phase: "Running" }));
        const ms = endsAfterMs[pod.metadata.name] ?? 0;
        if (ms < 0) throw new Error("no");
        await clock.sleep(ms, signal);
      },
      agent: { recordEvent: (type, reason, message) => told.push(`${type} ${reason}: ${message}`) },
      syncNodeStatus: async () => syncs++,
      writeStatuses,
    },
    { periods: shutdownPeriods(setDefaults(fields, kubeVersion)), kubeVersion },
  );
  return { clock, events, manager, metrics, told, statuses, syncs: () => syncs };
}

const EVENT = "Normal NodeShutdown: Shutdown manager detected shutdown event";
const { signal } = new AbortController();

test("shutdown: critical pods end last, each within its group's time or its own", async () => {
  const pods = [makePod("crit", CRITICAL), makePod("web", 0), makePod("quick", 0, 3)];
  const { clock, manager, metrics, told, statuses, syncs } = start(pods, { web: 4_000, quick: 1_000, crit: 2_000 });
  assert.deepEqual(await manager.admit(), { admit: true });
  const done = manager.shutDown(signal);
  assert.deepEqual(manager.problems(), ["node is shutting down"]);
  assert.deepEqual(await manager.admit(), {
    admit: false,
    reason: "NodeShutdown",
    message: "Pod was rejected as the node is shutting down.",
  });
  await clock.advance(6_000);
  await done;
  assert.deepEqual(told, [EVENT, "0 s: web in 20 s", "0 s: quick in 3 s", "4 s: crit in 10 s"]);
  assert.deepEqual(statuses[0], {
    phase: "Failed",
    reason: "Terminated",
    message: "Pod was terminated in response to imminent node shutdown.",
  });
  assert.equal(syncs(), 1);
  const times = ["start", "end"].map((what) => metrics.series(`kubelet_graceful_shutdown_${what}_time_seconds`));
  assert.deepEqual((await Promise.all(times)).flat().map(Number), [START_MS / 1000, START_MS / 1000 + 6]);
  assert.equal(clock.sleeping, 0);
});

test("shutdown: a pod that does not end holds up the next group no longer than its own group's time", async () => {
  const { clock, manager, told } = start([makePod("crit", CRITICAL), makePod("stuck", 0)], { stuck: 3_600_000 });
  const stop = new AbortController();
  const done = manager.shutDown(stop.signal);
  await clock.advance(20_000);
  await done;
  assert.deepEqual(told, [EVENT, "0 s: stuck in 20 s", "20 s: crit in 10 s"]);
  stop.abort();
});

test("shutdown: a failure of one pod does not hold up the others, and a group without pods takes no time", async () => {
  const { manager, told, statuses } = start([makePod("crit", CRITICAL)], { crit: -1 }, "1.26");
  await manager.shutDown(signal);
  assert.deepEqual(told, [EVENT, "0 s: crit in 10 s"]);
  assert.equal(statuses[0]?.conditions?.[0]?.type, "DisruptionTarget");
  await manager.shutDown(signal);
  assert.equal(told.length, 2, "it happens once");
});

const UNWRITTEN = "the last status of d/crit was not written within 5 s";
const writers: readonly [
  what: string,
  write: (nth: number) => Promise<number>,
  afterMs: number,
  errors: readonly string[],
][] = [
  ["are tried until they are written", async (nth) => (nth < 3 ? 1 : 0), 200, []],
  ["that cannot be written are named", async () => 1, 5_000, [UNWRITTEN]],
  ["that wait for an answer are named", () => new Promise(() => {}), 5_000, [UNWRITTEN]],
];
for (const [what, write, afterMs, errors] of writers) {
  test(`shutdown: last statuses ${what}`, async () => {
    const pods = [makePod("crit", CRITICAL)];
    let calls = 0;
    const { clock, events, manager } = start(pods, {}, "1.25", async (left) => left.slice(0, await write(++calls)));
    let hasEnded = false;
    const done = manager.shutDown(signal).then(() => {
      hasEnded = true;
    });
    await clock.advance(afterMs - 1);
    assert.equal(hasEnded, false);
    await clock.advance(1);
    await done;
    assert.deepEqual(
      only(events, "error").map(({ message }) => message),
      errors,
    );
    assert.equal(clock.sleeping, 0);
  });
}

test("shutdown: an abort ends the wait", async () => {
  const { manager } = start([makePod("stuck", 0)], { stuck: 3_600_000 });
  const stop = new AbortController();
  const done = manager.shutDown(stop.signal);
  stop.abort();
  await assert.rejects(done, { name: "AbortError" });
});
