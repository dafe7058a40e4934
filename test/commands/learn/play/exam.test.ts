import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import type { LearnContext } from "../../../../src/commands/learn/context.js";
import { ExamTime, endExam } from "../../../../src/commands/learn/play/exam.js";
import { summaryOf } from "../../../../src/lab/labs/format/library.js";
import { ProgressStore } from "../../../../src/lab/labs/progress/progress-store.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { tinyLab } from "../../../support/tiny-lab.js";

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

test("a poorer exam is reported, and the better one before it kept", async () => {
  const lab = summaryOf(await tinyLab());
  const clock = new FakeClock();
  const store = new ProgressStore({ XDG_STATE_HOME: mkdtempSync(join(tmpdir(), "kubelab-exam-")) }, clock);
  const printed: string[] = [];
  const context = { streams: { stderr: { write: (text: string) => printed.push(text) } }, exitWith: () => undefined };
  const env = { store, say: sayIn("en"), context } as unknown as LearnContext;
  for (const rightPredictions of [1, 0]) {
    await store.begin(lab, 1);
    await store.change(lab.id, (before) => before && { ...before, done: lab.steps, rightPredictions });
    using time = new ExamTime(clock, 12);
    await endExam(env, lab, time);
  }
  assert.match(printed.join(""), /Exam: 20 of 20 points.*Exam: 10 of 20 points/s);
  assert.equal((await store.of(lab))?.exam?.points, 20);
});
