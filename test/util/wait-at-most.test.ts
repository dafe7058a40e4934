import { expect, test } from "vitest";
import { waitAtMost } from "../../src/util/loops.js";
import { FakeClock, settle } from "../support/fake-clock.js";

test("what is done in time is waited for, and its failure is the caller's; no timer stays", async () => {
  const clock = new FakeClock();
  await waitAtMost(clock, 1_000, Promise.resolve());
  await expect(waitAtMost(clock, 1_000, Promise.reject(new Error("no")))).rejects.toThrow("no");
  await settle();
  expect(clock.sleeping).toBe(0);
});

test("what takes longer is left alone", async () => {
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
