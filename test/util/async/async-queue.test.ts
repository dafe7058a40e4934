import assert from "node:assert/strict";
import { test } from "vitest";
import { AsyncQueue } from "../../../src/util/async/async-queue.js";

async function rest<T>(queue: AsyncQueue<T>): Promise<T[]> {
  queue.close();
  const items: T[] = [];
  for await (const item of queue) items.push(item);
  return items;
}

test("takes no more items than its capacity", async () => {
  const queue = new AsyncQueue<number>(2);
  assert.deepEqual([queue.push(1), queue.push(2), queue.push(3)], [true, true, false]);
  assert.deepEqual(await rest(queue), [1, 2]);
});

test("takes no more than its weight limit, except for a single item", async () => {
  const queue = new AsyncQueue<string>(Number.POSITIVE_INFINITY, 10);
  assert.deepEqual([queue.push("heavy", 50), queue.push("light", 1)], [true, false]);
  const reader = queue.iterate();
  assert.equal((await reader.next()).value, "heavy");
  assert.deepEqual([queue.push("a", 4), queue.push("b", 6), queue.push("c", 1)], [true, true, false]);
  assert.equal((await reader.next()).value, "a");
  assert.equal(queue.push("d", 4), true);
});

test("takeAll empties it and resets its weight", () => {
  const queue = new AsyncQueue<string>(3, 10);
  queue.push("a", 9);
  assert.deepEqual(queue.takeAll(), ["a"]);
  assert.deepEqual([queue.push("b", 9), queue.size], [true, 1]);
});
