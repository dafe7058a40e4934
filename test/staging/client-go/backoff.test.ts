import assert from "node:assert/strict";
import { test } from "vitest";
import { goDuration } from "../../../src/staging/apimachinery/time.js";
import { Backoff } from "../../../src/staging/client-go/backoff.js";
import { FakeClock } from "../../support/fake-clock.js";

const open = () => {
  const clock = new FakeClock();
  return { clock, backOff: new Backoff(clock, { initialMs: 10_000, maxMs: 300_000 }) };
};

test("back-off: doubles to its maximum", () => {
  const { clock, backOff } = open();
  const waits = Array.from({ length: 7 }, () => {
    backOff.next("a", clock.now());
    return backOff.get("a") / 1000;
  });
  assert.deepEqual(waits, [10, 20, 40, 80, 160, 300, 300]);
  assert.equal(backOff.get("b"), 0);
});

test("back-off: counts from the event, or from the last failure", async () => {
  const { clock, backOff } = open();
  const eventMs = clock.now();
  backOff.next("a", eventMs);
  await clock.advance(9_999);
  assert.equal(backOff.isInBackOffSince("a", eventMs), true);
  assert.equal(backOff.isInBackOffSinceUpdate("a", clock.now()), true);
  await clock.advance(1);
  assert.equal(backOff.isInBackOffSince("a", eventMs), false);
  assert.equal(backOff.isInBackOffSinceUpdate("a", clock.now()), false);
  assert.equal(backOff.isInBackOffSince("b", eventMs), false);
});

const quiet = [
  // ms of quiet, the next wait
  [600_000, 20_000],
  [600_001, 10_000],
] as const;
for (const [ms, want] of quiet) {
  test(`back-off: after ${ms} ms of quiet it waits ${want / 1000} s`, async () => {
    const { clock, backOff } = open();
    backOff.next("a", clock.now());
    await clock.advance(ms);
    backOff.next("a", clock.now());
    assert.equal(backOff.get("a"), want);
  });
}

test("back-off: forgets after a quiet time, and after a reset", async () => {
  const { clock, backOff } = open();
  backOff.next("a", clock.now());
  await clock.advance(600_000);
  backOff.next("b", clock.now());
  await clock.advance(1);
  backOff.gc();
  assert.deepEqual([backOff.get("a"), backOff.get("b")], [0, 10_000]);
  backOff.reset("b");
  assert.equal(backOff.get("b"), 0);
});

const durations = [
  [0, "0s"],
  [250, "250ms"],
  [1000, "1s"],
  [1387, "1.387s"],
  [80_000, "1m20s"],
  [300_000, "5m0s"],
  [3_725_500, "1h2m5.5s"],
  [-1500, "-1.5s"],
] as const;
for (const [ms, want] of durations) {
  test(`go duration: ${ms} ms is ${want}`, () => assert.equal(goDuration(ms), want));
}
