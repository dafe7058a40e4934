import { expect, test } from "vitest";
import { DEFAULT_GC_POLICY } from "../../../src/kubelet/container/generic-runtime.js";
import { ContainerGc, startGarbageCollection } from "../../../src/kubelet/sync/garbage-collection.js";
import { FakeClock } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";

function collector(failsAt: readonly number[] = []) {
  const calls: (readonly [allSourcesReady: boolean, evictNonDeletedPods: boolean])[] = [];
  const runtime = {
    garbageCollect: async (policy: object, allSourcesReady: boolean, evictNonDeletedPods: boolean) => {
      expect(policy).toBe(DEFAULT_GC_POLICY);
      calls.push([allSourcesReady, evictNonDeletedPods]);
      if (failsAt.includes(calls.length)) throw new Error("busy");
    },
  };
  const containerGc = new ContainerGc({ runtime, sourcesReady: { allReady: () => calls.length > 0 } });
  return { calls, containerGc };
}

test("containers are collected each minute; a failure is an event, and the next minute tries again", async () => {
  const clock = new FakeClock();
  const { trace, events } = recordingTrace(clock);
  const { calls, containerGc } = collector([2]);
  const recorded: string[] = [];
  const agent = { recordEvent: (_: string, reason: string) => void recorded.push(reason) };
  const stop = new AbortController();
  const done = startGarbageCollection({ containerGc, agent, clock, trace }, stop.signal);
  await clock.advance(120_000);
  expect(calls).toEqual([
    [false, false],
    [true, false],
    [true, false],
  ]);
  expect(recorded).toEqual(["ContainerGCFailed"]);
  expect(only(events, "error")[0]?.message).toBe("Container garbage collection failed: busy");
  stop.abort();
  await expect(done).rejects.toThrow();
  expect(clock.sleeping).toBe(0);
});

test("under disk pressure the containers of terminated pods go too", async () => {
  const { calls, containerGc } = collector();
  await containerGc.deleteAllUnusedContainers(new AbortController().signal);
  expect(calls).toEqual([[false, true]]);
});

const rounds = [
  // rounds that fail   events after each 5 min
  ["", "0 0 0 0"],
  ["1", "0 0 0 0"],
  ["1 2", "0 1 1 1"],
  ["1 2 3 4", "0 1 2 3"],
  ["1 3", "0 0 0 0"],
  ["2 3", "0 0 1 1"],
] as const;
for (const [fails, want] of rounds) {
  test(`image collection fails in round ${fails || "none"}: ImageGCFailed is recorded ${want} times`, async () => {
    const clock = new FakeClock();
    const { trace } = recordingTrace(clock);
    const recorded: string[] = [];
    let round = 0;
    const imageGc = {
      garbageCollect: async () => {
        round++;
        if (fails.split(" ").includes(String(round))) throw new Error(`full ${round}`);
      },
    };
    const agent = { recordEvent: (...event: string[]) => void recorded.push(event.join(" ")) };
    const stop = new AbortController();
    const { containerGc } = collector();
    const done = startGarbageCollection({ containerGc, imageGc, agent, clock, trace }, stop.signal);
    const counts: number[] = [];
    for (let i = 1; i <= 4; i++) {
      await clock.advance(i === 1 ? 0 : 300_000);
      counts.push(recorded.length);
    }
    expect(counts.join(" ")).toBe(want);
    expect(recorded.every((line) => /^Warning ImageGCFailed full \d$/.test(line))).toBe(true);
    stop.abort();
    await expect(done).rejects.toThrow();
    expect(clock.sleeping).toBe(0);
  });
}
