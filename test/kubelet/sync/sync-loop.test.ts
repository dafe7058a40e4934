import { describe, expect, test } from "vitest";
import type { PodLifecycleEvent } from "../../../src/kubelet/pleg/events.js";
import type { ProbeUpdate } from "../../../src/kubelet/prober/results.js";
import { type SyncHandler, SyncLoop } from "../../../src/kubelet/sync/sync-loop.js";
import type { PodUpdate } from "../../../src/kubelet/types/pod-update.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { currentScope, type Scope } from "../../../src/trace/scope.js";
import { AsyncQueue } from "../../../src/util/async/async-queue.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";
import { makePod } from "../podworkers/pods.js";

/** Records calls; `during` can delay them. */
class NotingHandler implements SyncHandler {
  readonly calls: string[] = [];
  during: (call: string) => Promise<void> = async () => {};

  async handlePodAdditions(pods: readonly V1Pod[]): Promise<void> {
    await this.#note("additions", pods);
  }
  handlePodUpdates(pods: readonly V1Pod[]): void {
    void this.#note("updates", pods);
  }
  handlePodRemoves(pods: readonly V1Pod[]): void {
    void this.#note("removes", pods);
  }
  handlePodReconcile(pods: readonly V1Pod[]): void {
    void this.#note("reconcile", pods);
  }
  handlePodSyncs(pods: readonly V1Pod[]): void {
    void this.#note("syncs", pods);
  }
  async handlePodCleanups(): Promise<void> {
    await this.#note("cleanups", []);
  }
  #note(what: string, pods: readonly V1Pod[]): Promise<void> {
    const call = [what, ...pods.map(({ metadata }) => metadata.name)].join(" ");
    this.calls.push(call);
    return this.during(call);
  }
}

function start(options: { readonly isReady?: boolean; readonly pods?: readonly V1Pod[] } = {}) {
  const clock = new FakeClock();
  const { trace, events } = recordingTrace(clock);
  const handler = new NotingHandler();
  const config = new AsyncQueue<PodUpdate>();
  const pleg = new AsyncQueue<PodLifecycleEvent>();
  const probes = {
    liveness: new AsyncQueue<ProbeUpdate>(),
    readiness: new AsyncQueue<ProbeUpdate>(),
    startup: new AsyncQueue<ProbeUpdate>(),
  };
  const state = {
    errors: [] as string[],
    due: [] as V1Pod[],
    dueScopes: [] as Scope[],
    isReady: options.isReady ?? true,
  };
  const scopes: unknown[] = [];
  const said: string[] = [];
  const byUid = new Map((options.pods ?? []).map((pod) => [pod.metadata.uid, pod]));
  const loop = new SyncLoop({
    handler,
    channels: {
      configCh: (signal) => config.iterate(signal),
      plegCh: (signal) => pleg.iterate(signal),
      livenessUpdates: (signal) => probes.liveness.iterate(signal),
      readinessUpdates: (signal) => probes.readiness.iterate(signal),
      startupUpdates: (signal) => probes.startup.iterate(signal),
    },
    runtimeState: { runtimeErrors: () => state.errors },
    sourcesReady: { addSource: (source) => said.push(`source ${source}`), allReady: () => state.isReady },
    podManager: { getPodByUid: (uid) => byUid.get(uid) },
    statusManager: {
      setContainerReadiness: (uid, id, ready) => said.push(`readiness ${uid} ${id} ${ready}`),
      setContainerStartup: (uid, id, started) => said.push(`startup ${uid} ${id} ${started}`),
    },
    podsToSync: () => state.due.splice(0).map((pod) => ({ pod, scope: state.dueScopes.shift() })),
    cleanUpContainersInPod: (uid, id) => said.push(`clean ${uid} ${id}`),
    onContainerRemoved: (uid) => said.push(`removed ${uid}`),
    clock,
    trace,
  });
  const stop = new AbortController();
  const done = loop.run(stop.signal);
  done.catch(() => {});
  const lines = () => only(events, "note").map(({ text }) => text);
  const end = async () => {
    stop.abort();
    await expect(done).rejects.toThrow();
    expect(clock.sleeping).toBe(0);
  };
  return { scopes, clock, handler, config, pleg, probes, state, said, loop, events, lines, end };
}

const a = makePod("a");
const b = makePod("b", { namespace: "kube-system" });

describe("configCh", () => {
  const table: [PodUpdate["op"], string, string][] = [
    // op          handler              line
    ["ADD", "additions a b", 'SyncLoop ADD source="api" pods=[default/a kube-system/b]'],
    ["UPDATE", "updates a b", 'SyncLoop UPDATE source="api" pods=[default/a kube-system/b]'],
    ["DELETE", "updates a b", 'SyncLoop DELETE source="api" pods=[default/a kube-system/b]'],
    ["REMOVE", "removes a b", 'SyncLoop REMOVE source="api" pods=[default/a kube-system/b]'],
    ["RECONCILE", "reconcile a b", 'SyncLoop RECONCILE source="api" pods=[default/a kube-system/b]'],
  ];
  for (const [op, call, line] of table) {
    test(`${op}: ${call}, and the source has been seen`, async () => {
      const { config, handler, lines, said, end } = start();
      config.push({ op, source: "api", pods: [a, b] });
      await settle();
      expect(handler.calls).toEqual([call]);
      expect(lines()).toContain(line);
      expect(said).toEqual(["source api"]);
      await end();
    });
  }

  test("SET is refused, as upstream's PodConfig never sends it", async () => {
    const { config, handler, events, end } = start();
    config.push({ op: "SET", source: "file", pods: [a] });
    await settle();
    expect(handler.calls).toEqual([]);
    expect(only(events, "error").map(({ message }) => message)).toEqual(["Kubelet does not support snapshot update"]);
    await end();
  });
});

describe("plegCh", () => {
  const table: [PodLifecycleEvent["type"], readonly string[], readonly string[]][] = [
    // type               calls       said
    ["ContainerStarted", ["syncs a"], []],
    ["ContainerDied", ["syncs a"], ["clean uid-a c1"]],
    ["ContainerRemoved", [], ["removed uid-a"]],
  ];
  for (const [type, calls, said] of table) {
    test(`${type}: [${calls}] [${said}]`, async () => {
      const started = start({ pods: [a] });
      started.pleg.push({ podUid: "uid-a", type, containerId: "c1" });
      await settle();
      expect(started.handler.calls).toEqual(calls);
      expect(started.said).toEqual(said);
      if (calls.length > 0) {
        const line = `SyncLoop (PLEG): event for pod pod="default/a" event=&{ID:uid-a Type:${type} Data:c1}`;
        expect(started.lines()).toContain(line);
      }
      await started.end();
    });
  }

  test("a pod that is in no source is not synced, but its containers are cleaned up", async () => {
    const { pleg, handler, said, end } = start();
    pleg.push({ podUid: "ghost", type: "ContainerDied", containerId: "c1" });
    await settle();
    expect(handler.calls).toEqual([]);
    expect(said).toEqual(["clean ghost c1"]);
    await end();
  });
});

describe("probes", () => {
  const table: ["liveness" | "readiness" | "startup", ProbeUpdate["result"], string, string, string][] = [
    // probe       result     set                            calls      status
    ["liveness", "success", "", "", ""],
    ["liveness", "unknown", "", "", ""],
    ["liveness", "failure", "", "syncs a", "unhealthy"],
    ["readiness", "success", "readiness uid-a c1 true", "syncs a", "ready"],
    ["readiness", "failure", "readiness uid-a c1 false", "syncs a", ""],
    ["startup", "success", "startup uid-a c1 true", "syncs a", "started"],
    ["startup", "failure", "startup uid-a c1 false", "syncs a", "unhealthy"],
  ];
  for (const [probe, result, set, calls, status] of table) {
    test(`${probe} ${result}: [${set}] [${calls}]`, async () => {
      const { probes, handler, said, lines, end } = start({ pods: [a] });
      probes[probe].push({ podUid: "uid-a", containerId: "c1", result });
      await settle();
      expect(said.join()).toBe(set);
      expect(handler.calls.join()).toBe(calls);
      const line = `SyncLoop (probe) probe="${probe}" status="${status}" pod="default/a"`;
      expect(lines().includes(line)).toBe(calls !== "");
      await end();
    });
  }
});

describe("tickers", () => {
  test("each second the pods whose time has come, every two seconds housekeeping", async () => {
    const { clock, handler, state, end } = start();
    state.due = [a];
    await clock.advance(4_500);
    expect(handler.calls).toEqual(["syncs a", "cleanups", "cleanups"]);
    await end();
  });

  test("no housekeeping before all sources have spoken: unknown pods are not gone", async () => {
    const { clock, handler, state, lines, end } = start({ isReady: false });
    await clock.advance(2_500);
    expect(handler.calls).toEqual([]);
    expect(lines()).toContain("SyncLoop (housekeeping, skipped): sources aren't ready yet");
    state.isReady = true;
    await clock.advance(2_000);
    expect(handler.calls).toEqual(["cleanups"]);
    await end();
  });

  test("failed or slow housekeeping is reported, and the loop continues", async () => {
    const { clock, handler, events, config, end } = start();
    handler.during = async (call) => {
      if (call !== "cleanups") return;
      // The next turn comes at once: it is a quick one.
      handler.during = async () => {};
      await clock.sleep(15_500);
      throw new Error("the runtime is gone");
    };
    await clock.advance(2_000);
    // While it is being done nothing else is: a pod that comes now waits.
    config.push({ op: "ADD", source: "api", pods: [a] });
    await settle();
    expect(handler.calls).toEqual(["cleanups"]);
    await clock.advance(15_500);
    expect(handler.calls.slice(0, 2)).toEqual(["cleanups", "additions a"]);
    expect(only(events, "error").map(({ message }) => message)).toEqual([
      "Failed cleaning pods: the runtime is gone",
      "Housekeeping took longer than 15s: 15.5s",
    ]);
    handler.during = async () => {};
    await clock.advance(4_000);
    await end();
  });
});

describe("while the runtime has problems", () => {
  test("nothing is taken from the channels; looked at after 100 ms, twice as late each time, 5 s at last", async () => {
    const { clock, state, config, handler, lines, loop, end } = start();
    state.errors = ["container runtime is down", "PLEG is not healthy: pleg was last seen active 3m1s ago"];
    await settle();
    // The loop waits inside an iteration: the tick that comes next is still taken.
    await clock.advance(1_000);
    config.push({ op: "ADD", source: "api", pods: [a] });
    await clock.advance(60_000);
    expect(handler.calls).toEqual([]);
    const seen = loop.lastIterationMs ?? 0;
    expect(clock.now() - seen).toBeGreaterThan(55_000);
    state.errors = [];
    await clock.advance(5_000);
    expect(handler.calls).toContain("additions a");
    expect(lines()).toContain("Pods are synced again");
    await end();
  });

  test("the problem is reported once, even if the durations in it change", async () => {
    const { clock, state, events, end } = start();
    await clock.advance(1_000);
    let seconds = 0;
    Object.defineProperty(state, "errors", { get: () => [`pleg was last seen active 3m${++seconds}s ago`] });
    await clock.advance(30_000);
    const loud = only(events, "error").filter(({ level }) => level <= 1);
    expect(loud).toHaveLength(1);
    expect(loud[0]?.message).toMatch(/^Skipping pod synchronization err="pleg was last seen active 3m\d+s ago"$/);
    await end();
  });
});

test("each event is handled with its cause; a tick is a timer, and a due pod has the cause of its work", async () => {
  const { config, pleg, probes, state, clock, handler, scopes, end } = start({ pods: [a] });
  handler.during = async (call) => void scopes.push([call, currentScope()?.causedBy ?? currentScope()?.origin]);
  config.push({ op: "ADD", source: "api", pods: [a], scope: { causedBy: "config1" } });
  await settle();
  pleg.push({ podUid: "uid-a", type: "ContainerDied", containerId: "c", scope: { causedBy: "pleg2" } });
  await settle();
  probes.liveness.push({ podUid: "uid-a", containerId: "c", result: "failure", scope: { causedBy: "probe3" } });
  await settle();
  state.due.push(a, b);
  state.dueScopes.push({ causedBy: "failed4" });
  await clock.advance(2_000);
  expect(scopes).toEqual([
    ["additions a", "config1"],
    ["syncs a", "pleg2"],
    ["syncs a", "probe3"],
    ["syncs a", "failed4"],
    ["syncs b", "timer"],
    ["cleanups", "timer"],
  ]);
  await end();
});
