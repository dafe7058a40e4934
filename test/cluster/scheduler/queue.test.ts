import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ClusterEvent } from "../../../src/cluster/scheduler/framework.js";
import { type QueuedPod, type QueueOptions, SchedulingQueue } from "../../../src/cluster/scheduler/queue.js";
import { Heap } from "../../../src/util/collections/heap.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { infoOf, makePod } from "./fixtures.js";

const EVENTS: Readonly<Record<string, readonly ClusterEvent[]>> = {
  NodeResourcesFit: ["NodeAdd", "AssignedPodDelete"],
  TaintToleration: ["NodeAdd", "NodeTaintChange"],
};

function open(options: Partial<QueueOptions> = {}) {
  const clock = new FakeClock();
  const queue = new SchedulingQueue(clock, {
    initialBackoffMs: 1_000,
    maxBackoffMs: 10_000,
    maxUnschedulableMs: 300_000,
    popsFromBackoff: false,
    hasGates: true,
    eventsOf: (plugin) => EVENTS[plugin] ?? [],
    ...options,
  });
  return { clock, queue };
}

const pod = (name: string, priority = 0) => infoOf(makePod(name, { priority }));
const by = (...plugins: string[]): ReadonlySet<string> => new Set(plugins);
const never = new AbortController().signal;

/** Pops a pod if one is ready now, without leaving a waiter behind. */
async function popNow(queue: SchedulingQueue): Promise<QueuedPod | undefined> {
  const stop = new AbortController();
  const popped = queue.pop(stop.signal).catch(() => undefined);
  await settle();
  stop.abort();
  return popped;
}

async function namesNow(queue: SchedulingQueue): Promise<string> {
  const names: string[] = [];
  for (let next = await popNow(queue); next !== undefined; next = await popNow(queue)) {
    names.push(next.info.pod.metadata.name ?? "");
  }
  return names.join(" ");
}

test("pop: higher priority first, then the longer wait", async () => {
  const { clock, queue } = open();
  queue.add(pod("old"));
  queue.add(pod("same-moment"));
  await clock.advance(1);
  queue.add(pod("young"));
  queue.add(pod("important", 1_000));
  queue.add(pod("unimportant", -1));
  assert.equal(await namesNow(queue), "important old same-moment young unimportant");
});

test("pop waits for a pod, and ends with the signal", async () => {
  const { clock, queue } = open();
  const popped = queue.pop(never);
  queue.add(pod("a"));
  assert.equal((await popped).info.key, "default/a");
  const stop = new AbortController();
  const waiting = queue.pop(stop.signal);
  await settle();
  stop.abort();
  await assert.rejects(waiting, { name: "AbortError" });
  assert.equal(clock.sleeping, 0);
});

test("back-off: 1 s, 2 s, 4 s, 8 s, then 10 s each time", async () => {
  const { clock, queue } = open();
  queue.add(pod("a"));
  let queued = await queue.pop(never);
  const waits: number[] = [];
  for (let attempt = 1; attempt <= 6; attempt++) {
    assert.equal(queued.attempts, attempt);
    const startMs = clock.now();
    queue.putBack(queued, by("NodeResourcesFit"));
    queue.moveAll(["NodeAdd"]);
    let next: QueuedPod | undefined;
    void queue.pop(never).then((one) => {
      next = one;
    });
    while (next === undefined) await clock.advance(500);
    waits.push((clock.now() - startMs) / 1000);
    queued = next;
  }
  assert.deepEqual(waits, [1, 2, 4, 8, 10, 10]);
});

describe("events that bring an unschedulable pod back", () => {
  const table: readonly (readonly [readonly string[], ClusterEvent, boolean])[] = [
    [["NodeResourcesFit"], "NodeAdd", true],
    [["NodeResourcesFit"], "AssignedPodDelete", true],
    [["NodeResourcesFit"], "NodeTaintChange", false],
    [["TaintToleration"], "NodeTaintChange", true],
    [["TaintToleration"], "AssignedPodDelete", false],
    [["NodeResourcesFit", "TaintToleration"], "AssignedPodDelete", true],
    [[], "NodeLabelChange", true],
  ];
  for (const [plugins, event, comesBack] of table) {
    test(`rejected by [${plugins}], then ${event}: ${comesBack}`, async () => {
      const { clock, queue } = open();
      queue.add(pod("a"));
      queue.putBack(await queue.pop(never), by(...plugins));
      await clock.advance(5_000); // its back-off is over
      queue.moveAll([event]);
      assert.equal((await popNow(queue)) !== undefined, comesBack);
    });
  }
});

test("preCheck decides for each pod", async () => {
  const { clock, queue } = open();
  for (const name of ["a", "b"]) queue.add(pod(name));
  for (let i = 0; i < 2; i++) queue.putBack(await queue.pop(never), by("TaintToleration"));
  await clock.advance(5_000);
  queue.moveAll(["NodeAdd"], ({ key }) => key === "default/b");
  assert.equal(await namesNow(queue), "b");
});

test("a pod without an event is tried again after 5 minutes", async () => {
  const { clock, queue } = open();
  queue.add(pod("a"));
  queue.putBack(await queue.pop(never), by("NodeResourcesFit"));
  const popped: QueuedPod[] = [];
  void queue.pop(never).then((one) => popped.push(one));
  await clock.advance(299_000);
  assert.equal(popped.length, 0);
  await clock.advance(1_000);
  assert.equal(popped[0]?.attempts, 2);
});

test("after an error the pod only backs off", async () => {
  const { clock, queue } = open();
  queue.add(pod("a"));
  queue.putBack(await queue.pop(never), by(), true);
  assert.equal(await popNow(queue), undefined);
  await clock.advance(1_000);
  assert.equal(await namesNow(queue), "a");
});

test("since v1.33 pods leave their back-off early if the active queue is empty", async () => {
  const { queue } = open({ popsFromBackoff: true });
  queue.add(pod("a"));
  queue.putBack(await queue.pop(never), by("NodeResourcesFit"));
  assert.equal(await popNow(queue), undefined);
  queue.moveAll(["NodeAdd"]);
  assert.equal(await namesNow(queue), "a");
});

test("a relevant update brings a pod back", async () => {
  const { clock, queue } = open();
  queue.add(pod("a"));
  queue.putBack(await queue.pop(never), by("TaintToleration"));
  await clock.advance(1_000);
  queue.update(pod("a"), false);
  assert.equal(await popNow(queue), undefined);
  queue.update(pod("a", 7), true);
  assert.equal((await popNow(queue))?.info.pod.spec?.priority, 7);
});

test("a deleted pod is in no part, and does not come back", async () => {
  const { clock, queue } = open();
  for (const name of ["active", "flight", "stuck"]) queue.add(pod(name));
  queue.delete("default/active");
  const flight = await queue.pop(never);
  queue.delete("default/flight");
  queue.putBack(flight, by());
  queue.putBack(await queue.pop(never), by());
  queue.delete("default/stuck");
  queue.moveAll(["NodeAdd"]);
  await clock.advance(600_000);
  assert.equal(await namesNow(queue), "");
  assert.deepEqual(Object.values(queue.counts()), [0, 0, 0, 0, 0, 0]);
});

test("gates hold a pod back until the last one is gone, from v1.27 on", async () => {
  const gated = infoOf(makePod("a", { schedulingGates: [{ name: "example.com/wait" }] }));
  const { queue } = open();
  queue.add(gated);
  queue.moveAll(["NodeAdd"]);
  assert.equal(queue.counts().gated, 1);
  assert.equal(await popNow(queue), undefined);
  queue.update(pod("a"), true);
  assert.equal(await namesNow(queue), "a");
  const before = open({ hasGates: false });
  before.queue.add(gated);
  assert.equal(await namesNow(before.queue), "a");
});

test("heap: pops in order whatever was pushed in between", () => {
  const heap = new Heap<number>((a, b) => a < b);
  const seen: (number | undefined)[] = [];
  for (const value of [5, 3, 8, 1, 9, 2]) heap.push(value);
  seen.push(heap.pop(), heap.pop());
  for (const value of [0, 7]) heap.push(value);
  while (heap.size > 0) seen.push(heap.pop());
  assert.deepEqual([...seen, heap.pop()], [1, 2, 0, 3, 5, 7, 8, 9, undefined]);
});
