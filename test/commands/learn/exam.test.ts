import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { ExamTime } from "../../../src/commands/learn/exam.js";
import { FakeClock } from "../../support/fake-clock.js";

describe("the time of an exam", () => {
  test("counts down in minutes, ends once, and uses no more than it has", async () => {
    const clock = new FakeClock();
    using time = new ExamTime(clock, 2);
    assert.deepEqual([time.leftMinutes, time.usedMs, time.signal.aborted], [2, 0, false]);
    await clock.advance(61_000);
    assert.deepEqual([time.leftMinutes, time.signal.aborted], [1, false]);
    await clock.advance(60_000);
    assert.deepEqual([time.leftMinutes, time.usedMs, time.signal.aborted], [0, 120_000, true]);
  });

  test("a lab that is done before has no end of time", async () => {
    const clock = new FakeClock();
    const time = new ExamTime(clock, 1);
    time[Symbol.dispose]();
    await clock.advance(120_000);
    assert.equal(time.signal.aborted, false);
  });
});
