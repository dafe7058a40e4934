import assert from "node:assert/strict";
import { afterEach, beforeEach, test, vi } from "vitest";
import { SystemClock } from "../../src/util/clock.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "hrtime", "Date"], now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

test("a change of speed does not make the clock jump", async () => {
  const clock = new SystemClock(10);
  assert.equal(clock.now(), 1_000_000);
  await vi.advanceTimersByTimeAsync(1000);
  assert.equal(clock.now(), 1_010_000);
  clock.setSpeed(2);
  assert.equal(clock.now(), 1_010_000);
  await vi.advanceTimersByTimeAsync(1000);
  assert.equal(clock.now(), 1_012_000);
});

test("a clock that starts behind the system's time catches up with it", async () => {
  const clock = new SystemClock(10, 90_000);
  assert.equal(clock.now(), 910_000);
  await vi.advanceTimersByTimeAsync(10_000);
  assert.equal(clock.now(), 1_010_000);
});

test("sleepers wait for their remaining time at the new speed", async () => {
  const clock = new SystemClock(1);
  let isAwake = false;
  const sleeping = clock.sleep(60_000).then(() => {
    isAwake = true;
  });
  await vi.advanceTimersByTimeAsync(10_000);
  clock.setSpeed(50);
  await vi.advanceTimersByTimeAsync(900);
  assert.equal(isAwake, false);
  await vi.advanceTimersByTimeAsync(200);
  assert.equal(isAwake, true);
  await sleeping;
  assert.equal(vi.getTimerCount(), 0);
});

test.each([1, 3, 4, 7, 80])("at speed %d, no timer fires before its time", async (speed) => {
  const clock = new SystemClock(speed);
  const early: number[] = [];
  for (let ms = 1; ms <= 100; ms++) {
    const untilMs = clock.now() + ms;
    clock.timer(ms, () => clock.now() < untilMs && early.push(ms));
  }
  await vi.advanceTimersByTimeAsync(200);
  assert.deepEqual(early, []);
  assert.equal(vi.getTimerCount(), 0);
});

test.each([0, 3_600_000, -3_600_000])(
  "a clock that follows an older reading shows the same time, also when the machine's time has jumped by %d ms",
  async (jumpMs) => {
    const clock = new SystemClock(10);
    await vi.advanceTimersByTimeAsync(3000);
    clock.setSpeed(4);
    const { reading } = clock;
    vi.setSystemTime(Date.now() + jumpMs);
    await vi.advanceTimersByTimeAsync(500);
    const joined = new SystemClock();
    joined.follow(reading);
    assert.deepEqual([joined.now(), joined.speed], [clock.now(), 4]);
    assert.equal(joined.now(), 1_032_000);
    await vi.advanceTimersByTimeAsync(1000);
    assert.equal(joined.now(), clock.now());
  },
);

test("a clock that follows another one, which differs in start and speed, shows the same time", async () => {
  const clock = new SystemClock(10);
  const follower = new SystemClock(1);
  let changes = 0;
  const listening = clock.onSpeedChange(() => {
    changes++;
    follower.follow(clock.reading);
  });
  clock.setSpeed(60);
  assert.deepEqual([changes, follower.speed], [1, 60]);
  assert.equal(follower.now(), clock.now());
  let isAwake = false;
  const sleeping = follower.sleep(600_000).then(() => {
    isAwake = true;
  });
  clock.setSpeed(600_000);
  await vi.advanceTimersByTimeAsync(2);
  assert.equal(isAwake, true);
  await sleeping;
  listening[Symbol.dispose]();
  clock.setSpeed(1);
  assert.equal(changes, 2);
});

test("an abort ends a sleep, and leaves no timer", async () => {
  const stop = new AbortController();
  const sleeping = new SystemClock(1).sleep(60_000, stop.signal);
  stop.abort();
  await assert.rejects(sleeping, { name: "AbortError" });
  assert.equal(vi.getTimerCount(), 0);
});

test("a timer fires once, by its clock; a stopped one leaves nothing behind", async () => {
  const clock = new SystemClock(1);
  let calls = 0;
  const timer = clock.timer(10_000, () => calls++);
  const stopped = clock.timer(10_000, () => assert.fail("stopped"));
  clock.setSpeed(10);
  await vi.advanceTimersByTimeAsync(900);
  assert.equal(calls, 0);
  stopped.stop();
  await vi.advanceTimersByTimeAsync(200);
  assert.equal(calls, 1);
  timer.stop();
  clock.setSpeed(1);
  assert.equal(vi.getTimerCount(), 0);
});

test.each([3_600_000, -3_600_000])(
  "a jump of the machine's time by %d ms changes neither the clock nor a sleep",
  async (jumpMs) => {
    const clock = new SystemClock();
    let isAwake = false;
    const sleeping = clock.sleep(10_000).then(() => {
      isAwake = true;
    });
    await vi.advanceTimersByTimeAsync(4000);
    vi.setSystemTime(Date.now() + jumpMs);
    assert.equal(clock.now(), 1_004_000);
    await vi.advanceTimersByTimeAsync(5999);
    assert.equal(isAwake, false);
    await vi.advanceTimersByTimeAsync(1);
    await sleeping;
    assert.equal(clock.now(), 1_010_000);
  },
);

test("a listener of a clock that follows another hears of a new reading", () => {
  const clock = new SystemClock();
  let count = 0;
  using _ = clock.onSpeedChange(() => count++);
  clock.follow({ ...new SystemClock(5).reading });
  assert.deepEqual([clock.speed, count], [5, 1]);
});
