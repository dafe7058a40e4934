import { expect, test } from "vitest";
import { inParallel } from "../../src/util/async/concurrency.js";

test("inParallel: at most `limit` at a time, each item once", async () => {
  const seen: number[] = [];
  let running = 0;
  let most = 0;
  await inParallel([1, 2, 3, 4, 5], 2, async (item) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    seen.push(item);
    running--;
  });
  expect([seen, most]).toEqual([[1, 2, 3, 4, 5], 2]);
});

test("inParallel: after an error no other item begins, and those that run settle before it rejects", async () => {
  const ended: number[] = [];
  const running = inParallel([1, 2, 3, 4], 2, async (item) => {
    if (item === 1) throw new Error("one");
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    ended.push(item);
  });
  await expect(running).rejects.toThrow("one");
  expect(ended).toEqual([2]);
});
