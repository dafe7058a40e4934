import { expect, test } from "vitest";
import { Turns } from "../../../src/util/async/turns.js";
import { FakeClock } from "../../support/fake-clock.js";

test("a turn lasts 5 ms; then all who ask wait for the same next turn of the event loop", async () => {
  const clock = new FakeClock();
  const turns = new Turns(clock);
  clock.jump(4);
  expect(turns.next()).toBe(undefined);
  clock.jump(1);
  const next = turns.next();
  expect(next).toBeInstanceOf(Promise);
  expect(turns.next()).toBe(next);
  let hasSocketsTurn = false;
  setImmediate(() => {
    hasSocketsTurn = true;
  });
  await Promise.resolve();
  expect(hasSocketsTurn).toBe(false);
  await next;
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasSocketsTurn).toBe(true);
  expect(turns.next()).toBe(undefined);
});
