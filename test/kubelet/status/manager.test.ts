import { describe, expect, test } from "vitest";
import { PodManager } from "../../../src/kubelet/pod/pod-manager.js";
import { STATUS_CHANNEL_CAPACITY, StatusManager } from "../../../src/kubelet/status/manager.js";
import { CONFIG_HASH_ANNOTATION } from "../../../src/kubelet/types/pod-update.js";
import type { V1Pod, V1PodStatus } from "../../../src/staging/apimachinery/api/pod.js";
import { MIRROR_POD_ANNOTATION } from "../../../src/staging/apimachinery/corev1/pod-references.js";
import { currentScope } from "../../../src/trace/scope.js";
import { LabError } from "../../../src/util/errors.js";
import { containerStatus } from "../../support/container-status.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../support/memory-client.js";
import { only, recordingTrace } from "../../support/trace.js";
import { makePod } from "../podworkers/pods.js";

const RUNNING: V1PodStatus = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };

function start(
  pods: readonly V1Pod[],
  answer: (method: string, pod: V1Pod) => MemoryAnswer | Error | undefined,
  kubeVersion = "1.25",
) {
  const clock = new FakeClock();
  const podManager = new PodManager();
  podManager.setPods(pods);
  const byName = new Map(pods.map((pod) => [pod.metadata.name, pod]));
  const client = new MemoryClient(({ method, path }) => {
    const pod = byName.get(path.split("/")[6] ?? "");
    if (pod === undefined) return { status: 404, body: {} };
    return answer(method, pod) ?? { status: 200, body: pod };
  });
  const safety = { reclaimed: false, couldRun: false };
  const podDeletionSafety = {
    podResourcesAreReclaimed: () => safety.reclaimed,
    podCouldHaveRunningContainers: () => safety.couldRun,
  };
  const { trace, events } = recordingTrace(clock);
  const manager = new StatusManager({ client, podManager, podDeletionSafety, clock, trace }, { kubeVersion });
  return { clock, client, podManager, manager, safety, trace, facts: events };
}

describe("sending", () => {
  test("in the background, each version once, and again after 10 s only when something differs", async () => {
    const pod = makePod("a");
    const api = { ...pod };
    const { manager, client, clock, podManager } = start([pod], () => ({ status: 200, body: api }));
    const stop = new AbortController();
    const done = manager.run(stop.signal);
    manager.setPodStatus(pod, RUNNING);
    manager.setPodStatus(pod, RUNNING);
    await settle();
    expect(client.lines).toEqual([
      "GET /api/v1/namespaces/default/pods/a",
      "PATCH /api/v1/namespaces/default/pods/a/status",
    ]);
    const { status } = manager.statuses().get("uid-a") ?? {};
    if (status !== undefined) podManager.updatePod({ ...pod, status });
    await clock.advance(10_000);
    expect(client.requests).toHaveLength(2);
    stop.abort();
    await expect(done).rejects.toThrow();
    expect(clock.sleeping).toBe(0);
  });

  test("a final phase that was held back while containers ran is sent once they have ended", async () => {
    const pod = makePod("a", { status: RUNNING });
    const { manager, client, safety } = start([pod], () => ({ status: 200, body: pod }));
    safety.couldRun = true;
    manager.setPodStatus(pod, { phase: "Failed", reason: "Terminated" });
    await manager.drain(new AbortController().signal);
    const sent = () => client.requests.filter(({ method }) => method === "PATCH").map(({ body }) => body);
    expect(JSON.stringify(sent())).not.toContain("Failed");
    const { signal } = new AbortController();
    expect(await manager.syncEnded([pod], signal)).toEqual([pod]);
    safety.couldRun = false;
    expect(await manager.syncEnded([pod, makePod("gone")], signal)).toEqual([]);
    expect(sent().at(-1)).toMatchObject({ status: { phase: "Failed", reason: "Terminated" } });
  });

  test("a status that the API server refuses stays to be sent", async () => {
    const pod = makePod("a", { status: RUNNING });
    const { manager } = start([pod], () => ({ status: 500, body: {} }));
    manager.setPodStatus(pod, { phase: "Failed", reason: "Terminated" });
    expect(await manager.syncEnded([pod], new AbortController().signal)).toEqual([pod]);
  });

  test("of several versions that wait only the newest is sent", async () => {
    const pod = makePod("a");
    const { manager, client } = start([pod], () => ({ status: 200, body: pod }));
    manager.setPodStatus(pod, { phase: "Pending", conditions: [{ type: "Ready", status: "False" }] });
    manager.setPodStatus(pod, RUNNING);
    const stop = new AbortController();
    const done = manager.run(stop.signal);
    await settle();
    expect(client.lines).toEqual([
      "GET /api/v1/namespaces/default/pods/a",
      "PATCH /api/v1/namespaces/default/pods/a/status",
    ]);
    expect(client.requests[1]?.body).toMatchObject({ status: { phase: "Running" } });
    stop.abort();
    await expect(done).rejects.toThrow();
  });

  // what goes wrong, and how often it is asked until the status is there
  const failures: [string, string, MemoryAnswer | Error][] = [
    ["the API server is gone", "GET", new LabError("CLUSTER_UNREACHABLE", "connection refused", "")],
    ["the read fails", "GET", { status: 500, body: {} }],
    ["the write meets another pod of that name", "PATCH", { status: 409, body: {} }],
    ["the write is forbidden", "PATCH", { status: 403, body: {} }],
  ];
  for (const [what, method, answer] of failures) {
    test(`${what}: the status stays, and the next batch sends it`, async () => {
      const pod = makePod("a");
      let isBroken = true;
      const { manager, clock, facts } = start([pod], (m) => (isBroken && m === method ? answer : undefined));
      const stop = new AbortController();
      const done = manager.run(stop.signal);
      manager.setPodStatus(pod, RUNNING);
      await clock.advance(25_000);
      expect(manager.sentVersions().size).toBe(0);
      expect(only(facts, "error")).toHaveLength(3);
      isBroken = false;
      await clock.advance(10_000);
      expect([...manager.sentVersions()]).toEqual([["uid-a", 1]]);
      stop.abort();
      await expect(done).rejects.toThrow();
    });
  }

  test("a pod missing in the API is not an error, and its status stays until it is orphaned", async () => {
    const { manager, facts } = start([makePod("a")], () => ({ status: 404, body: {} }));
    manager.setPodStatus(makePod("a"), RUNNING);
    await manager.drain(new AbortController().signal);
    expect([only(facts, "error").length, manager.statuses().size]).toEqual([0, 1]);
    manager.removeOrphanedStatuses(new Set());
    expect(manager.statuses().size).toBe(0);
  });

  test("another pod of that name: the status is forgotten, and not written on it", async () => {
    const other = makePod("a", { uid: "other" });
    const { manager, client } = start([other], () => undefined);
    manager.setPodStatus(makePod("a"), RUNNING);
    await manager.drain(new AbortController().signal);
    expect([client.lines, manager.statuses().size]).toEqual([["GET /api/v1/namespaces/default/pods/a"], 0]);
  });

  test("what does not fit into the channel is sent by the next batch", async () => {
    const pods = Array.from({ length: STATUS_CHANNEL_CAPACITY + 5 }, (_, i) => makePod(`p${i}`));
    const { manager } = start(pods, () => undefined);
    for (const pod of pods) manager.setPodStatus(pod, RUNNING);
    expect(manager.queued).toBe(STATUS_CHANNEL_CAPACITY);
    await manager.syncBatch(new AbortController().signal);
    expect([manager.queued, manager.sentVersions().size]).toEqual([0, pods.length]);
  });
});

describe("mirror pods", () => {
  const pod = makePod("s-n1", {
    uid: "static",
    source: "file",
    metadata: { annotations: { [CONFIG_HASH_ANNOTATION]: "h" } },
  });
  const mirror = makePod("s-n1", { uid: "mirror", metadata: { annotations: { [MIRROR_POD_ANNOTATION]: "h" } } });

  test("a static pod's status is written on its mirror pod, and remembered by the mirror pod's uid", async () => {
    const { manager, client, podManager } = start([pod, mirror], () => ({ status: 200, body: mirror }));
    manager.setPodStatus(pod, RUNNING);
    await manager.drain(new AbortController().signal);
    expect(client.requests[1]?.body).toMatchObject({ metadata: { uid: "mirror" }, status: { phase: "Running" } });
    expect([...manager.sentVersions()]).toEqual([["mirror", 1]]);
    expect(manager.getPodStatus("mirror")?.phase).toBe("Running");

    // The next mirror pod has another uid, so it has seen nothing yet.
    podManager.deletePod(mirror);
    await manager.syncBatch(new AbortController().signal);
    expect(client.requests).toHaveLength(2);
    podManager.addPod({ ...mirror, metadata: { ...mirror.metadata, uid: "mirror2" } });
    await manager.syncBatch(new AbortController().signal);
    expect(client.lines.slice(2)).toEqual(["GET /api/v1/namespaces/default/pods/s-n1"]);
  });

  test("the status manager never deletes a mirror pod that is being deleted", async () => {
    const deleting = { ...mirror, metadata: { ...mirror.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    const { manager, client, safety } = start([pod, deleting], () => ({ status: 200, body: deleting }));
    safety.reclaimed = true;
    manager.setPodStatus(pod, { phase: "Succeeded" });
    await manager.drain(new AbortController().signal);
    expect(client.requests.map(({ method }) => method)).toEqual(["GET", "PATCH"]);
  });
});

describe("the last status", () => {
  const deleting = makePod("a", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" }, status: RUNNING });

  test("a final phase waits for the containers; then it is written, with Ready False, before the pod is deleted", async () => {
    const { manager, client, safety } = start([deleting], () => undefined);
    const { signal } = new AbortController();
    safety.couldRun = true;
    manager.setPodStatus(deleting, { phase: "Succeeded", conditions: [{ type: "Ready", status: "True" }] });
    await manager.drain(signal);
    expect(client.requests.filter(({ method }) => method === "DELETE")).toEqual([]);
    expect(JSON.stringify(client.requests)).not.toContain("Succeeded");
    safety.couldRun = false;
    safety.reclaimed = true;
    manager.setPodStatus(deleting, { phase: "Succeeded", conditions: [{ type: "Ready", status: "True" }] });
    await manager.drain(signal);
    expect(client.requests.slice(-2)).toMatchObject([
      { method: "PATCH", body: { status: { phase: "Succeeded" } } },
      { method: "DELETE", body: { gracePeriodSeconds: 0, preconditions: { uid: "uid-a" } } },
    ]);
    expect(manager.statuses().size).toBe(0);
  });

  test("a delete that fails is tried again by the next batch", async () => {
    let refusals = 1;
    const { manager, client, safety } = start([deleting], (method) =>
      method === "DELETE" && refusals-- > 0 ? { status: 500, body: {} } : undefined,
    );
    safety.reclaimed = true;
    const { signal } = new AbortController();
    manager.setPodStatus(deleting, { phase: "Failed" });
    await manager.drain(signal);
    expect(manager.statuses().size).toBe(1);
    await manager.syncBatch(signal);
    expect([client.lines.filter((line) => line.startsWith("DELETE")).length, manager.statuses().size]).toEqual([2, 0]);
  });
});

describe("the phase of a pod that is over", () => {
  const table = [
    // release, source, phase,        want
    ["1.26", "api", "Running", "Running"],
    ["1.27", "api", "Running", "Failed"],
    ["1.27", "api", "Pending", "Failed"],
    ["1.27", "api", "Succeeded", "Succeeded"],
    ["1.27", "file", "Running", "Running"],
  ] as const;
  for (const [release, source, phase, want] of table) {
    test(`v${release}: from ${source}, ${phase}: ${want}`, () => {
      const pod = makePod("a", { source });
      const { manager } = start([pod], () => undefined, release);
      manager.setPodStatus(pod, { phase });
      manager.terminatePod(pod);
      expect(manager.getPodStatus("uid-a")?.phase).toBe(want);
    });
  }
});

test("a phase change is reported with its upstream function", () => {
  const pod = makePod("a");
  const { manager, facts } = start([pod], () => undefined);
  manager.setPodStatus(pod, { phase: "Pending" });
  manager.setPodStatus(pod, RUNNING);
  const states = only(facts, "state").map(({ subject, from, to, upstream }) => [subject, from, to, upstream?.func]);
  expect(states).toEqual([
    ["pod default/a", undefined, "Pending", "SetPodStatus"],
    ["pod default/a", "Pending", "Running", "SetPodStatus"],
  ]);
});

test("an illegal transition is refused, and told", () => {
  const pod = makePod("a", { spec: { restartPolicy: "Never" } });
  const { manager, facts } = start([pod], () => undefined);
  manager.setPodStatus(pod, { containerStatuses: [containerStatus({ state: { terminated: { exitCode: 0 } } })] });
  manager.setPodStatus(pod, { containerStatuses: [containerStatus({ state: { running: {} } })] });
  expect(manager.statuses().get("uid-a")?.version).toBe(1);
  expect(only(facts, "error")[0]?.message).toContain("illegal transition");
});

describe("sidecars (v1.29)", () => {
  const spec = {
    restartPolicy: "Never" as const,
    containers: [{ name: "app" }],
    initContainers: [{ name: "proxy", restartPolicy: "Always" }, { name: "init" }],
  };
  const running = (name: string, ready = false) =>
    containerStatus({ name, ready, started: true, containerID: `test://${name}`, state: { running: {} } });
  const ended = (name: string) => containerStatus({ name, ready: true, state: { terminated: { exitCode: 0 } } });

  test("one that has ended may run again, whatever the pod's restart policy; others may not", () => {
    const pod = makePod("a", { spec });
    const { manager } = start([pod], () => undefined, "1.29");
    const version = () => manager.statuses().get("uid-a")?.version;
    manager.setPodStatus(pod, { initContainerStatuses: [ended("proxy"), ended("init")] });
    manager.setPodStatus(pod, { initContainerStatuses: [running("proxy"), ended("init")] });
    expect(version()).toBe(2);
    manager.setPodStatus(pod, { initContainerStatuses: [running("proxy"), running("init")] });
    expect(version()).toBe(2);
  });

  test("the pod is Ready when they are too, also when a probe has said so", () => {
    const pod = makePod("a", { spec });
    const { manager } = start([pod], () => undefined, "1.29");
    const conditions = () =>
      (manager.getPodStatus("uid-a")?.conditions ?? []).map(({ type, status, message = "" }) => {
        return `${type}=${status} ${message}`.trim();
      });
    const unready = { type: "Ready", status: "False" as const };
    manager.setPodStatus(pod, {
      phase: "Running",
      conditions: [unready, { ...unready, type: "ContainersReady" }],
      containerStatuses: [running("app")],
      initContainerStatuses: [running("proxy"), ended("init")],
    });
    manager.setContainerReadiness("uid-a", "test://app", true);
    const why = "containers with unready status: [proxy]";
    expect(conditions()).toEqual([`Ready=False ${why}`, `ContainersReady=False ${why}`]);
    manager.setContainerReadiness("uid-a", "test://proxy", true);
    expect(conditions()).toEqual(["Ready=True", "ContainersReady=True"]);
  });
});

describe("causes", () => {
  test("a status is sent because of the sync that set it, also if it has to be sent again", async () => {
    const pod = makePod("a");
    const scopes: unknown[] = [];
    let isBroken = true;
    const { manager, trace, clock, facts } = start([pod], (method) => {
      if (method !== "PATCH") return undefined;
      scopes.push(currentScope());
      return isBroken ? { status: 500, body: {} } : undefined;
    });
    const stop = new AbortController();
    const done = trace.origin("start", () => manager.run(stop.signal));
    trace.because({ causedBy: "sync1" }, () => manager.setPodStatus(pod, RUNNING));
    await settle();
    isBroken = false;
    await clock.advance(10_000);
    const version = only(facts, "decision").find(({ what }) => what.startsWith("version 1"));
    expect(version?.causedBy).toBe("sync1");
    const cause = { causedBy: version?.id, pod: "default/a" };
    expect(scopes).toMatchObject([cause, cause]);
    stop.abort();
    await expect(done).rejects.toThrow();
  });

  test("a pod is deleted from the API because of what was seen last, not because of its last status", async () => {
    const pod = { ...makePod("a"), metadata: { ...makePod("a").metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    const scopes: unknown[] = [];
    const { manager, trace, safety } = start([pod], (method) => {
      if (method === "DELETE") scopes.push(currentScope()?.causedBy);
      return undefined;
    });
    const { signal } = new AbortController();
    trace.because({ causedBy: "sync1" }, () => manager.setPodStatus(pod, RUNNING));
    await manager.syncBatch(signal);
    safety.reclaimed = true;
    await trace.because({ causedBy: "removed2" }, () => manager.syncBatch(signal));
    expect(scopes).toEqual(["removed2"]);
  });
});
