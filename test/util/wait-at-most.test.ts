import { expect, test } from "vitest";
import { waitAtMost } from "../../src/util/async/concurrency.js";
import { FakeClock, settle } from "../support/fake-clock.js";

test("waits for work that finishes in time, rethrows its failure, and leaves no timer", async () => {
  const clock = new FakeClock();
  await waitAtMost(clock, 1_000, Promise.resolve());
  await expect(waitAtMost(clock, 1_000, Promise.reject(new Error("no")))).rejects.toThrow("no");
  await settle();
  expect(clock.sleeping).toBe(0);
});

test("does not wait for work that takes longer", async () => {
  const clock = new FakeClock();
  let isOver = false;
  const waited = waitAtMost(clock, 1_000, new Promise(() => {})).then(() => {
    isOver = true;
  });
  await clock.advance(999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  await waited;
  expect(isOver).toBe(true);
});
