import { describe, expect, test } from "vitest";
import { PodCache } from "../../../src/kubelet/container/cache.js";
import { KubeletMetrics } from "../../../src/kubelet/metrics/kubelet-metrics.js";
import { calculateEffectiveGracePeriod, killPodTimeoutSeconds } from "../../../src/kubelet/podworkers/grace-period.js";
import { killPodNow } from "../../../src/kubelet/podworkers/kill-pod.js";
import { PodWorkers } from "../../../src/kubelet/podworkers/pod-workers.js";
import type { PodSyncer } from "../../../src/kubelet/podworkers/update.js";
import { BasicWorkQueue, type DueWork } from "../../../src/kubelet/podworkers/work-queue.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import type { TraceEvent } from "../../../src/trace/events.js";
import { currentScope, type Scope } from "../../../src/trace/scope.js";
import { type Level, Trace } from "../../../src/trace/trace.js";
import { FakeClock, FakeRandom, settle } from "../../support/fake-clock.js";
import { parseMetrics, sampleOf } from "../../support/prometheus.js";
import { only } from "../../support/trace.js";
import { emptyPodStatus, makePod } from "./pods.js";

/** @param level of what the trace's only sink keeps */
function start(syncer: Partial<PodSyncer> = {}, kubeVersion = "1.25", level: Level = 4) {
  const clock = new FakeClock();
  const calls: string[] = [];
  const called = (what: string, pod: V1Pod) => void calls.push(`${what} ${pod.metadata.name}`);
  const cache = new PodCache();
  const workQueue = new BasicWorkQueue(clock);
  const events: string[] = [];
  const trace = new Trace(clock);
  const facts: TraceEvent[] = [];
  trace.addSink({ level, write: (event) => facts.push(event) });
  const recorder = {
    event: (pod: V1Pod, _: string, reason: string) => void events.push(`${pod.metadata.name} ${reason}`),
  };
  const metrics = new KubeletMetrics({ nodeName: "n1", startMs: 0 });
  const workers = new PodWorkers(
    {
      metrics,
      syncer: {
        syncPod: async ({ pod }) => {
          called("sync", pod);
          return { isTerminal: false };
        },
        syncTerminatingPod: async ({ pod }) => called("terminating", pod),
        syncTerminatedPod: async ({ pod }) => called("terminated", pod),
        ...syncer,
      },
      podCache: cache,
      workQueue,
      recorder,
      clock,
      random: new FakeRandom(),
      trace,
    },
    { kubeVersion },
  );
  const seen = (podUid: string) => cache.set(podUid, emptyPodStatus(podUid), undefined, clock.now());
  return { clock, trace, calls, cache, seen, workQueue, workers, recorder, events, facts, metrics };
}

test("a sync counts by its kind and its duration since the change was seen; one without that time does not", async () => {
  const { workers, seen, clock, metrics } = start({
    syncPod: async () => {
      await clock.sleep(200, new AbortController().signal);
      throw new Error("the runtime is down");
    },
  });
  const pod = makePod("a");
  seen("uid-a");
  workers.updatePod({ pod, updateType: "create", startTimeMs: clock.now() - 50 });
  await settle();
  await clock.advance(200);
  const read = async (operation: string, what: string) =>
    sampleOf(parseMetrics(await metrics.text()), `kubelet_pod_worker_duration_seconds_${what}`, {
      operation_type: operation,
    });
  expect(await read("create", "count")).toBe(1);
  expect(await read("create", "sum")).toBeCloseTo(0.25);
  await clock.advance(1000);
  seen("uid-a");
  workers.updatePod({ pod, updateType: "update" });
  await settle();
  await clock.advance(200);
  expect(await read("update", "count")).toBe(undefined);
});

describe("waiting for the cache", () => {
  test("the first sync needs any status, each further one a status newer than the sync before", async () => {
    const { workers, calls, seen, clock } = start();
    const pod = makePod("a");
    workers.updatePod({ pod, updateType: "create" });
    await settle();
    expect(calls).toEqual([]);
    expect(workers.views()[0]?.activity).toMatchObject({ kind: "cache", newerThanMs: Number.NEGATIVE_INFINITY });
    seen("uid-a");
    await settle();
    expect(calls).toEqual(["sync a"]);

    workers.updatePod({ pod, updateType: "sync" });
    await settle();
    expect(calls).toEqual(["sync a"]); // what the cache has is as old as the sync
    await clock.advance(1);
    seen("uid-a");
    await settle();
    expect(calls).toEqual(["sync a", "sync a"]);
    await workers.close();
  });

  test("updates that come meanwhile are merged, and the newest is delivered", async () => {
    const { workers, seen, facts, clock } = start();
    for (const name of ["1", "2", "3"]) {
      workers.updatePod({ pod: makePod("a", { metadata: { labels: { rev: name } } }), updateType: "update" });
    }
    await settle();
    expect(workers.views()[0]?.pending).toMatchObject({ merged: 2, pod: { metadata: { labels: { rev: "3" } } } });
    expect(only(facts, "decision").some(({ what }) => what.startsWith("merge the update of default/a"))).toBe(true);
    const ends = () =>
      only(facts, "note").flatMap(({ text }) => (/^the worker|^pass the waiting/.test(text) ? [text] : []));
    expect(ends()).toEqual([]);
    seen("uid-a");
    await settle();
    expect(ends()).toEqual(["pass the waiting update of default/a (update) to its worker"]);
    await clock.advance(1);
    seen("uid-a");
    await settle();
    expect(ends().slice(1)).toEqual(["the worker of default/a is idle: no update waits"]);
    await workers.close();
  });

  test("an inspection that failed is an event and a retry, not a sync", async () => {
    const { workers, cache, events, calls, workQueue, clock, facts } = start();
    cache.set("uid-a", undefined, new Error("inspect failed"), clock.now());
    workers.updatePod({ pod: makePod("a"), updateType: "create" });
    await settle();
    expect([calls, events, workQueue.size]).toEqual([[], ["a FailedSync"], 1]);
    const { constants } = only(facts, "decision").find(({ what }) => what.startsWith("sync default/a again")) ?? {};
    expect(constants?.map(({ name, value }) => `${name} ${value}`)).toEqual([
      "backOffPeriod 10 s",
      "workerBackOffPeriodJitterFactor 0.5",
    ]);
    await workers.close();
  });
});

describe("stopping", () => {
  test("a worker that waits for the cache and one that syncs both end; their pods stay as they are", async () => {
    let aborted = false;
    const { workers, cache, seen, events } = start({
      syncPod: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            aborted = true;
            reject(signal.reason);
          });
        }),
    });
    workers.updatePod({ pod: makePod("waits"), updateType: "create" });
    seen("uid-syncs");
    workers.updatePod({ pod: makePod("syncs"), updateType: "create" });
    await settle();
    await workers.close();
    expect([aborted, cache.waiting(), events]).toEqual([true, 0, []]);
    expect(workers.views().map(({ phase }) => phase)).toEqual(["syncing", "syncing"]);
    workers.updatePod({ pod: makePod("late"), updateType: "create" });
    expect(workers.views()).toHaveLength(2);
  });
});

describe("killPodNow", () => {
  test("resolves when no container runs any more", async () => {
    const { workers, recorder, clock, seen } = start();
    const pod = makePod("a");
    seen("uid-a");
    workers.updatePod({ pod, updateType: "create" });
    await settle();
    const killed = killPodNow(
      { podWorkers: workers, recorder, clock },
      pod,
      { isEvicted: true },
      new AbortController().signal,
    );
    await clock.advance(1);
    seen("uid-a");
    await killed;
    expect([workers.isPodKnownTerminated("uid-a"), clock.sleeping]).toEqual([true, 0]);
    await workers.close();
  });

  test("gives up after half as long again as the grace period, with an event", async () => {
    const { workers, recorder, clock, events } = start({ syncTerminatingPod: () => new Promise(() => {}) });
    const pod = makePod("a", { spec: { terminationGracePeriodSeconds: 30 } });
    const { signal } = new AbortController();
    const killed = killPodNow({ podWorkers: workers, recorder, clock }, pod, { isEvicted: false }, signal);
    const refused = expect(killed).rejects.toThrow("timeout waiting to kill pod default/a");
    await clock.advance(44_999);
    expect(events).toEqual([]);
    await clock.advance(1);
    await refused;
    expect([events, clock.sleeping]).toEqual([["a ExceededGracePeriod"], 0]);
  });
});

describe("calculateEffectiveGracePeriod", () => {
  // before  deleted with  override  of the spec   want  shortened
  const table = [
    [0, undefined, undefined, undefined, 1, false],
    [0, undefined, undefined, 30, 30, false],
    [0, 20, undefined, 30, 20, false],
    [0, 20, 5, 30, 5, false],
    [0, 5, 20, 30, 5, false],
    [0, 0, undefined, 30, 30, false],
    [30, 5, undefined, 30, 5, true],
    [5, 30, undefined, 30, 5, false],
    [30, undefined, 0, 30, 30, false],
    [1, undefined, undefined, 30, 1, false],
  ] as const;
  for (const [before, deletion, override, spec, want, shortened] of table) {
    test(`${before} then ${deletion}, ${override}, ${spec} gives ${want}`, () => {
      const pod = makePod("a", {
        metadata: deletion === undefined ? {} : { deletionGracePeriodSeconds: deletion },
        spec: spec === undefined ? {} : { terminationGracePeriodSeconds: spec },
      });
      const options = override === undefined ? {} : { podTerminationGracePeriodSecondsOverride: override };
      expect(calculateEffectiveGracePeriod(before, pod, options)).toEqual({
        gracePeriodSeconds: want,
        isShortened: shortened,
      });
    });
  }
});

test("killPodTimeoutSeconds is integer arithmetic, and never below 10", () => {
  expect([0, 1, 6, 7, 9, 30, 31].map(killPodTimeoutSeconds)).toEqual([10, 10, 10, 10, 13, 45, 46]);
});

describe("BasicWorkQueue", () => {
  const uidsOf = (due: readonly DueWork[]) => due.map(({ podUid }) => podUid);

  test("what is enqueued for now is due a moment later; asking again overwrites", async () => {
    const clock = new FakeClock();
    const queue = new BasicWorkQueue(clock);
    queue.enqueue("a", 0);
    queue.enqueue("b", 1000);
    queue.enqueue("b", 5000);
    expect(uidsOf(queue.getWork())).toEqual([]);
    await clock.advance(1);
    expect(uidsOf(queue.getWork())).toEqual(["a"]);
    await clock.advance(4999);
    expect(uidsOf(queue.getWork())).toEqual([]);
    await clock.advance(1);
    expect([uidsOf(queue.getWork()), queue.size]).toEqual([["b"], 0]);
  });
});

for (const [release, want] of [
  ["1.26", []],
  ["1.27", ["terminated a"]],
] as const) {
  test(`v${release}: a pod that is over when it is seen first: [${want}]`, async () => {
    const { workers, calls, seen } = start({}, release);
    seen("uid-a");
    workers.updatePod({ pod: makePod("a", { status: { phase: "Failed" } }), updateType: "create" });
    await settle();
    expect(calls).toEqual(want);
    expect(workers.views()[0]?.phase).toBe("finished");
    expect(workers.shouldPodRuntimeBeRemoved("uid-a")).toBe(true);
  });
}

test("states and decisions go to the trace with their upstream function", async () => {
  const { workers, seen, facts, clock } = start();
  seen("uid-a");
  workers.updatePod({ pod: makePod("a"), updateType: "create" });
  await settle();
  workers.updatePod({ pod: makePod("a"), updateType: "kill" });
  for (let i = 0; i < 3; i++) {
    await clock.advance(1);
    seen("uid-a");
    await settle();
  }
  const states = only(facts, "state").map(({ from, to, upstream }) => [from, to, upstream?.func]);
  expect(states).toEqual([
    [undefined, "syncing", "UpdatePod"],
    ["syncing", "terminating", "UpdatePod"],
    ["terminating", "terminated", "completeTerminating"],
    ["terminated", "finished", "completeTerminated"],
  ]);
  expect(only(facts, "decision").every(({ upstream }) => upstream?.file === "pkg/kubelet/pod_workers.go")).toBe(true);
  expect([...workers.syncKnownPods([]).values()]).toEqual(["TerminatedPod"]);
  expect(workers.views()).toEqual([]);
  await workers.close();
});

describe("causes", () => {
  /** Why each sync ran, and a way to let a sync fail. */
  function watched() {
    const scopes: (Scope | undefined)[] = [];
    const failure: { next?: Error } = {};
    const lab = start({
      syncPod: async () => {
        scopes.push(currentScope());
        const { next } = failure;
        delete failure.next;
        if (next !== undefined) throw next;
        return { isTerminal: false };
      },
      syncTerminatingPod: async () => void scopes.push(currentScope()),
    });
    const because = (causedBy: string, update: () => void) => lab.trace.because({ causedBy }, update);
    const sync = async () => {
      await lab.clock.advance(1);
      lab.seen("uid-a");
      await settle();
    };
    return { ...lab, scopes, failure, because, sync };
  }
  const pod = makePod("a");

  test("an update's sync has its cause and its pod, also if the worker was busy when it came", async () => {
    const { workers, scopes, because, sync } = watched();
    because("watch1", () => workers.updatePod({ pod, updateType: "create" }));
    because("watch2", () => workers.updatePod({ pod, updateType: "update" }));
    // Merged into the update that waits, which changed the pod.
    because("pleg3", () => workers.updatePod({ pod, updateType: "sync" }));
    await settle();
    await sync();
    await sync();
    expect(scopes).toMatchObject([
      { causedBy: "watch1", pod: "default/a" },
      { causedBy: "watch2", pod: "default/a" },
    ]);
    expect(scopes).toHaveLength(2);
    await workers.close();
  });

  test("a deletion that replaces a waiting sync is the cause of the pod's end", async () => {
    const { workers, scopes, because, sync } = watched();
    because("watch1", () => workers.updatePod({ pod, updateType: "create" }));
    because("pleg2", () => workers.updatePod({ pod, updateType: "sync" }));
    because("watch3", () => workers.updatePod({ pod, updateType: "kill" }));
    await settle();
    await sync();
    await sync();
    expect(scopes.at(-1)).toMatchObject({ causedBy: "watch3" });
    await workers.close();
  });

  test("a retry is caused by what failed, a resync by the time", async () => {
    const { workers, workQueue, clock, facts, failure, because, sync } = watched();
    failure.next = new Error("no network");
    because("watch1", () => workers.updatePod({ pod, updateType: "create" }));
    await sync();
    await clock.advance(60_000);
    const retries = only(facts, "decision").find(({ what }) => what.startsWith("sync default/a again"));
    expect(retries?.causedBy).toBe("watch1");
    expect(workQueue.getWork()).toMatchObject([{ podUid: "uid-a", scope: { causedBy: retries?.id } }]);
    because("watch2", () => workers.updatePod({ pod, updateType: "update" }));
    await sync();
    await clock.advance(120_000);
    expect(workQueue.getWork()).toEqual([{ podUid: "uid-a", scope: { origin: "timer", pod: "default/a" } }]);
    await workers.close();
  });

  test("without a trace of causes nothing is kept", async () => {
    const silent = start();
    silent.workers.updatePod({ pod, updateType: "create" });
    silent.workers.updatePod({ pod, updateType: "update" });
    expect(silent.workers.views()[0]?.pending).toHaveProperty("scope");
    const { workers } = start({}, "1.25", 1);
    workers.updatePod({ pod, updateType: "create" });
    workers.updatePod({ pod, updateType: "update" });
    expect(workers.views()[0]?.pending).not.toHaveProperty("scope");
    await silent.workers.close();
    await workers.close();
  });
});
