import { describe, expect, test } from "vitest";
import { PodCache } from "../../../src/kubelet/container/cache.js";
import type { Pod, PodStatus } from "../../../src/kubelet/container/runtime.js";
import type { PodLifecycleEvent } from "../../../src/kubelet/pleg/events.js";
import { GenericPleg } from "../../../src/kubelet/pleg/generic.js";
import { AsyncQueue } from "../../../src/util/async/async-queue.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";
import { emptyStatus, FakeRuntime, podOf } from "./fake-runtime.js";

function setUp({
  capacity = 1000,
  runtime = new FakeRuntime(),
  causeOf = (_containerId: string): string | undefined => undefined,
} = {}) {
  const clock = new FakeClock();
  const { trace, events: facts } = recordingTrace(clock);
  const cache = new PodCache();
  const events = new AsyncQueue<PodLifecycleEvent>(capacity);
  const pleg = new GenericPleg(
    { runtime, clock, trace, cache, events, causeOf },
    { relistPeriodMs: 1000, relistThresholdMs: 180_000 },
  );
  const stop = new AbortController();
  const relist = () => pleg.relist(stop.signal);
  const told = () => events.takeAll().map(({ type, containerId }) => `${type} ${containerId}`);
  return { clock, trace, facts, cache, events, pleg, runtime, stop, relist, told };
}

function running({ pleg, stop }: ReturnType<typeof setUp>) {
  const done = pleg.run(stop.signal);
  done.catch(() => {}); // asserted later
  return { done };
}

describe("the loop", () => {
  test("relists at once, then a period after each end, and leaves nothing behind", async () => {
    const lab = setUp();
    const { done } = running(lab);
    await lab.clock.advance(3500);
    expect(lab.pleg.counts.relists).toBe(4);
    lab.stop.abort();
    await expect(done).rejects.toMatchObject({ name: "AbortError" });
    expect(lab.clock.sleeping).toBe(0);
  });

  test("another period holds at once, not after the old one is over", async () => {
    const lab = setUp();
    lab.pleg.update({ relistPeriodMs: 300_000, relistThresholdMs: 600_000 });
    const { done } = running(lab);
    await lab.clock.advance(10_000);
    expect(lab.pleg.counts.relists).toBe(1);
    lab.pleg.update({ relistPeriodMs: 1000, relistThresholdMs: 180_000 });
    await lab.clock.advance(2500);
    expect(lab.pleg.counts.relists).toBe(4);
    lab.stop.abort();
    await expect(done).rejects.toMatchObject({ name: "AbortError" });
  });

  test("wanted soon again and again, it leaves at least as much time to others as it takes itself", async () => {
    const lab = setUp();
    lab.runtime.pods = [podOf("p1")];
    const getPods = lab.runtime.getPods.bind(lab.runtime);
    lab.runtime.getPods = async (all, signal) => {
      await lab.clock.sleep(100, signal);
      return getPods(all, signal);
    };
    const { done } = running(lab);
    for (let i = 0; i < 100; i++) {
      lab.pleg.relistSoon();
      await lab.clock.advance(10);
    }
    expect(lab.pleg.counts.relists).toBe(5);
    lab.stop.abort();
    await expect(done).rejects.toMatchObject({ name: "AbortError" });
  });

  test("two relists at the same time happen one after the other", async () => {
    const lab = setUp();
    lab.runtime.pods = [podOf("p1")];
    await Promise.all([lab.relist(), lab.relist()]);
    expect(lab.told()).toEqual(["ContainerStarted p1-c", "ContainerStarted p1-s"]);
    expect(lab.runtime.inspected).toEqual(["p1"]);
  });
});

describe("a runtime that hangs", () => {
  test("is named as the cause once the threshold is over, and comes back by itself without losing a change", async () => {
    const lab = setUp();
    lab.runtime.pods = [podOf("p1"), podOf("p2")];
    await lab.relist();
    lab.told();
    let letGo = () => {};
    lab.runtime.held = new Promise((resolve) => {
      letGo = resolve;
    });
    const { done } = running(lab);
    await lab.clock.advance(180_000);
    expect(lab.pleg.healthy()).toEqual({ healthy: true });
    await lab.clock.advance(1);
    expect(lab.pleg.healthy()).toEqual({
      healthy: false,
      message: "pleg was last seen active 3m0.001s ago; threshold is 3m0s",
      cause: "the container runtime's: it was asked to list its pods 3m0.001s ago and has not answered",
    });
    lab.runtime.pods = [podOf("p1", "exited")];
    letGo();
    await lab.clock.advance(0);
    expect(lab.pleg.healthy()).toEqual({ healthy: false, message: expect.any(String), cause: expect.any(String) });
    await lab.clock.advance(1000);
    expect(lab.pleg.healthy()).toEqual({ healthy: true });
    expect(lab.told().sort()).toEqual([
      "ContainerDied p1-c",
      "ContainerDied p2-c",
      "ContainerDied p2-s",
      "ContainerRemoved p2-c",
      "ContainerRemoved p2-s",
    ]);
    lab.stop.abort();
    await expect(done).rejects.toMatchObject({ name: "AbortError" });
  });

  test("before the first list: has yet to be successful", async () => {
    const lab = setUp();
    expect(lab.pleg.healthy()).toMatchObject({ healthy: false, message: "pleg has yet to be successful" });
    lab.runtime.listError = new Error("rpc error: code = Unavailable desc = no socket");
    await lab.relist();
    expect(lab.pleg.healthy()).toMatchObject({
      healthy: false,
      cause: "the container runtime's: the last relist failed with rpc error: code = Unavailable desc = no socket",
    });
  });

  test("nothing asked and nothing failed: it is the kubelet that does not relist", async () => {
    const lab = setUp();
    await lab.relist();
    await lab.clock.advance(200_000);
    expect(lab.pleg.healthy()).toMatchObject({ cause: expect.stringContaining("the kubelet's own") });
  });

  test("a bug of ours in a list ends the loop", async () => {
    const lab = setUp();
    lab.runtime.listError = new TypeError("Cannot read properties of undefined");
    await expect(running(lab).done).rejects.toThrow(TypeError);
  });

  test("a failing runtime is reported once, not every second, and so is its recovery", async () => {
    const lab = setUp();
    lab.runtime.listError = new Error("no socket");
    const { done } = running(lab);
    await lab.clock.advance(10_000);
    expect(only(lab.facts, "error").filter(({ level }) => level === 0)).toHaveLength(1);
    lab.runtime.listError = undefined;
    await lab.clock.advance(1000);
    expect(only(lab.facts, "note").map(({ text }) => text)).toEqual([
      expect.stringContaining("11 relists that failed"),
    ]);
    lab.stop.abort();
    await expect(done).rejects.toMatchObject({ name: "AbortError" });
  });
});

describe("inspections", () => {
  test("several at a time, but not more than 32", async () => {
    const lab = setUp();
    lab.runtime.pods = Array.from({ length: 40 }, (_, i) => podOf(`p${i}`));
    await lab.relist();
    expect(lab.runtime.inspected).toHaveLength(40);
    expect(lab.runtime.mostInFlight).toBe(32);
  });

  test("of many pods are made from the list, where the runtime can, and count as old as the list", async () => {
    class ListedRuntime extends FakeRuntime {
      readonly listed: string[] = [];
      async getListedPodStatus(pod: Pod): Promise<PodStatus> {
        this.listed.push(pod.podUid);
        return emptyStatus(pod);
      }
    }
    const runtime = new ListedRuntime();
    const lab = setUp({ runtime });
    lab.runtime.pods = Array.from({ length: 32 }, (_, i) => podOf(`p${i}`));
    await lab.relist();
    expect([runtime.listed.length, runtime.inspected.length]).toEqual([32, 0]);
    expect(lab.cache.get("p7").modifiedMs).toBe(START_MS);
    await lab.clock.advance(1000);
    lab.runtime.pods = [podOf("p0", "exited"), ...lab.runtime.pods.slice(1)];
    await lab.relist();
    expect([runtime.listed.length, runtime.inspected]).toEqual([32, ["p0"]]);
    expect(lab.cache.get("p0").modifiedMs).toBe(START_MS + 1000);
  });

  test("that fail keep the pod's events back until one succeeds, and do not touch other pods", async () => {
    const lab = setUp();
    lab.runtime.pods = [podOf("p1"), podOf("p2")];
    lab.runtime.statusErrors.set("p1", new Error("inspect failed"));
    await lab.relist();
    expect(lab.told()).toEqual(["ContainerStarted p2-c", "ContainerStarted p2-s"]);
    expect(lab.pleg.podsToReinspect).toEqual(["p1"]);
    expect(only(lab.facts, "error").map(({ message }) => message)).toEqual([expect.stringContaining("inspect failed")]);
    lab.runtime.statusErrors.clear();
    await lab.relist();
    expect(lab.told()).toEqual(["ContainerStarted p1-c", "ContainerStarted p1-s"]);
    expect(lab.pleg.podsToReinspect).toEqual([]);
  });

  test("that end in a bug of ours end the loop: they are no failure of the pod's, to be tried again", async () => {
    const lab = setUp();
    lab.runtime.pods = [podOf("p1"), podOf("p2")];
    lab.runtime.statusErrors.set("p1", new TypeError("Cannot read properties of undefined"));
    await expect(running(lab).done).rejects.toThrow(TypeError);
    expect(lab.pleg.podsToReinspect).toEqual([]);
    expect(lab.cache.get("p1").error).toBeUndefined();
  });

  test("end with the abort, which is not an error of the pod", async () => {
    const lab = setUp();
    lab.runtime.held = new Promise(() => {});
    const relist = lab.relist();
    lab.stop.abort();
    await expect(relist).rejects.toMatchObject({ name: "AbortError" });
    expect(lab.cache.timestampMs).toBeUndefined();
  });
});

describe("a full channel", () => {
  test("loses events, reports how many, and the cache is up to date anyway", async () => {
    const lab = setUp({ capacity: 3 });
    lab.runtime.pods = [podOf("p1"), podOf("p2")];
    await lab.relist();
    expect(lab.events.size).toBe(3);
    expect(only(lab.facts, "error").map(({ message }) => message)).toEqual([
      "the event channel is full (3): 1 event of this relist discarded",
    ]);
    expect([...lab.cache.entries()].map(([uid]) => uid)).toEqual(["p1", "p2"]);
    lab.told();
    await lab.relist();
    expect(lab.told()).toEqual([]);
  });
});

describe("a channel whose reader has ended with the kubelet", () => {
  test("is not full: the relist ends without a word of lost events", async () => {
    const lab = setUp();
    lab.runtime.pods = [podOf("p1")];
    lab.runtime.getPodStatus = async (pod) => {
      lab.events.close();
      lab.stop.abort();
      return emptyStatus(pod);
    };
    await expect(lab.relist()).rejects.toMatchObject({ name: "AbortError" });
    expect(only(lab.facts, "error")).toEqual([]);
  });
});

describe("the trace", () => {
  test("each event has its reason, with the exit code", async () => {
    const lab = setUp();
    lab.runtime.pods = [podOf("p1")];
    lab.runtime.getPodStatus = async (pod) => ({
      ...emptyStatus(pod),
      containerStatuses: [
        {
          containerId: "p1-c",
          name: "app",
          state: "exited",
          exitCode: 137,
          createdAtMs: 0,
          image: "",
          imageId: "",
          hash: 0,
          restartCount: 0,
        },
      ],
    });
    await lab.relist();
    lab.facts.length = 0;
    lab.runtime.pods = [podOf("p1", "exited")];
    await lab.relist();
    expect(only(lab.facts, "decision").map(({ what, why }) => `${what}: ${why}`)).toEqual([
      "ContainerDied default/p1 app p1-c: the container was running at the last relist and is exited now; exit code 137",
    ]);
    const [table] = only(lab.facts, "table");
    expect(table?.rows).toEqual([["default/p1", "app p1-c", "running", "exited"]]);
  });

  test("a relist without findings is a table at -v 3, and nothing below", async () => {
    const lab = setUp();
    lab.runtime.pods = [podOf("p1")];
    await lab.relist();
    lab.facts.length = 0;
    await lab.relist();
    expect(lab.facts.map(({ kind, level }) => [kind, level])).toEqual([["table", 3]]);
    expect(only(lab.facts, "table")[0]?.title).toBe("Relist 2: nothing changed among 1 pod, 1 sandbox, 1 container");
  });
});

describe("causes", () => {
  const scopesOf = (events: AsyncQueue<PodLifecycleEvent>) => events.takeAll().map(({ scope }) => scope);

  test("an event is caused by the call that last changed its container, and causes what it leads to", async () => {
    const { runtime, facts, events, relist } = setUp({ causeOf: (id) => (id === "p1-c" ? "start1" : undefined) });
    runtime.pods = [podOf("p1")];
    await relist();
    const step = only(facts, "step")[0];
    const [container, sandbox] = only(facts, "decision");
    expect(container).toMatchObject({ causedBy: "start1", pod: "default/p1" });
    expect(sandbox).toMatchObject({ causedBy: step?.id, pod: "default/p1" });
    expect(scopesOf(events)).toEqual([
      { causedBy: container?.id, pod: "default/p1" },
      { causedBy: sandbox?.id, pod: "default/p1" },
    ]);
  });

  test("of more pods than are reported, the relist is the cause", async () => {
    const { runtime, facts, events, relist } = setUp();
    runtime.pods = Array.from({ length: 201 }, (_, i) => podOf(`p${i}`));
    await relist();
    const ids = new Set(facts.map(({ id }) => id));
    expect(scopesOf(events).every((scope) => ids.has(scope?.causedBy ?? ""))).toBe(true);
    expect(only(facts, "decision").length).toBeLessThan(events.capacity);
  });

  test("a relist of the loop is caused by who asked for it, or by the time", async () => {
    const { runtime, trace, clock, pleg, stop, facts } = setUp();
    const done = trace.origin("start", () => pleg.run(stop.signal));
    done.catch(() => {}); // asserted below
    await clock.advance(500);
    trace.because({ causedBy: "sync1", pod: "default/other" }, () => pleg.relistSoon());
    trace.because({ causedBy: "sync2" }, () => pleg.relistSoon());
    runtime.pods = [podOf("p1")];
    await clock.advance(100);
    runtime.pods = [];
    await clock.advance(1_000);
    const steps = only(facts, "step").map(({ causedBy, origin, pod }) => [causedBy, origin, pod]);
    expect(steps).toEqual([
      ["sync1", undefined, undefined],
      [undefined, "timer", undefined],
    ]);
    stop.abort();
    await expect(done).rejects.toMatchObject({ name: "AbortError" });
  });
});
