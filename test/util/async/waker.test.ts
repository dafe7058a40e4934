import assert from "node:assert/strict";
import { beforeEach, test } from "vitest";
import { Waker } from "../../../src/util/async/waker.js";
import { FakeClock, START_MS, settle } from "../../support/fake-clock.js";

let clock: FakeClock;
let waker: Waker;
let stop: AbortController;
/** `waiting`, `over`, or the reason of its end */
let outcome: unknown;

beforeEach(() => {
  clock = new FakeClock();
  waker = new Waker();
  stop = new AbortController();
});

function wait(untilMs?: number): void {
  outcome = "waiting";
  waker.wait(clock, untilMs, stop.signal).then(
    () => {
      outcome = "over";
    },
    (error: unknown) => {
      outcome = error;
    },
  );
}

const STEPS: readonly (readonly [string, () => unknown, string])[] = [
  ["its time comes", () => clock.advance(1_000), "over"],
  ["its time has not come", () => clock.advance(999), "waiting"],
  ["it is woken", () => waker.wake(), "over"],
  ["it is woken twice", () => [waker.wake(), waker.wake()], "over"],
  ["the signal aborts", () => stop.abort("enough"), "enough"],
];
test.for(STEPS)("a wait: %s", async ([, happens, expected]) => {
  wait(START_MS + 1_000);
  await happens();
  await settle();
  assert.equal(outcome, expected);
  assert.equal(clock.sleeping, expected === "waiting" ? 1 : 0);
});

test("without a deadline only a wake ends it", async () => {
  wait();
  await clock.advance(1e9);
  assert.equal(outcome, "waiting");
  waker.wake();
  await settle();
  assert.equal(outcome, "over");
});

test("a wake before the wait ends it at once, and only it; a forgotten wake ends no wait", async () => {
  waker.wake();
  wait();
  await settle();
  assert.equal(outcome, "over");
  wait();
  await settle();
  assert.equal(outcome, "waiting");
  waker.wake();
  await settle();
  waker.wake();
  waker.forget();
  wait();
  await settle();
  assert.equal(outcome, "waiting");
});

test("an aborted signal ends a wait before it begins, even after a wake", async () => {
  waker.wake();
  stop.abort("before");
  wait();
  await settle();
  assert.equal(outcome, "before");
});

test("a wake during the rest ends the wait at the end of the rest; one timer with a purpose waits all the time", async () => {
  const waits = () => {
    outcome = "waiting";
    const done = waker.wait(clock, START_MS + 1000, stop.signal, { what: "relist", setBy: "period" }, START_MS + 300);
    void done.then(() => {
      outcome = clock.now() - START_MS;
    });
  };
  waker.wake();
  waits();
  await clock.advance(299);
  assert.equal(outcome, "waiting");
  waker.wake();
  await clock.advance(1);
  assert.equal(outcome, 300);
});
