import { expect, test } from "vitest";
import { OffsetClock } from "../../src/util/offset-clock.js";
import { FakeClock, START_MS } from "../support/fake-clock.js";

test("a clock that gains: its time runs ahead, and its waits are shorter", async () => {
  const right = new FakeClock();
  const fast = new OffsetClock(right, 1_000, 1.25);
  let woken = 0;
  fast.timer(10_000, () => woken++);
  await right.advance(7_999);
  expect(woken).toBe(0);
  await right.advance(1);
  expect([woken, fast.now()]).toEqual([1, START_MS + 11_000]);
});

test("a wrong clock shows another time, and waits as long as the right one", async () => {
  const right = new FakeClock();
  const wrong = new OffsetClock(right, -900_000);
  expect(wrong.now()).toBe(START_MS - 900_000);
  let woken = 0;
  const sleeping = wrong.sleep(1_000).then(() => woken++);
  wrong.timer(1_000, () => woken++);
  await right.advance(999);
  expect(woken).toBe(0);
  await right.advance(1);
  await sleeping;
  expect([woken, wrong.now()]).toEqual([2, START_MS - 899_000]);
});
