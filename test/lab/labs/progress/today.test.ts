import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { mergeProgress, parseProgress } from "../../../../src/lab/labs/progress/progress.js";
import { dateAt, dayOf, incidentOn, streakAt, type TodayResults } from "../../../../src/lab/labs/progress/today.js";

const IDS = ["a", "b", "c", "d", "e"];

test("a date is the learner's own", () => {
  assert.equal(dateAt(new Date(2026, 0, 5, 0, 1).getTime()), "2026-01-05");
  assert.equal(dateAt(new Date(2026, 0, 5, 23, 59).getTime()), "2026-01-05");
});

test("all incidents come once before one comes again, and a date has always the same one", () => {
  const first = Math.ceil(dayOf("2026-11-28") / IDS.length) * IDS.length;
  const dates = IDS.map((_, i) => new Date((first + i) * 86_400_000).toISOString().slice(0, 10));
  const chosen = dates.map((date) => incidentOn(date, IDS));
  assert.deepEqual(chosen.toSorted(), IDS);
  assert.deepEqual(
    dates.map((date) => incidentOn(date, IDS)),
    chosen,
  );
});

describe("days in a row", () => {
  const results = (days: readonly string[], open: readonly string[] = []): TodayResults =>
    Object.fromEntries([
      ...days.map((day) => [day, { lab: "a", startedAtMs: 1, finishedAtMs: 2 }]),
      ...open.map((day) => [day, { lab: "a", startedAtMs: 1 }]),
    ]);
  const table: readonly (readonly [name: string, TodayResults, number])[] = [
    ["none", results([]), 0],
    ["today", results(["2026-03-01"]), 1],
    ["up to yesterday, over the end of a month", results(["2026-02-27", "2026-02-28"]), 2],
    ["a gap", results(["2026-02-27", "2026-03-01"]), 1],
    ["today is only begun", results(["2026-02-28"], ["2026-03-01"]), 1],
    ["ended two days ago", results(["2026-02-27"]), 0],
  ];
  for (const [name, given, streak] of table) {
    test(`${name}: ${streak}`, () => assert.equal(streakAt("2026-03-01", given), streak));
  }
});

describe("in the progress file", () => {
  const today = { "2026-03-01": { lab: "a", startedAtMs: 1, finishedAtMs: 2, points: 3, mostPoints: 4, hints: 0 } };
  test("kept", () => {
    assert.deepEqual(parseProgress(JSON.stringify({ version: 1, labs: {}, today })), {
      kind: "ok",
      progress: { version: 1, labs: {}, today },
    });
  });
  for (const broken of [[], "x", { yesterday: today["2026-03-01"] }, { "2026-03-01": { lab: 1 } }]) {
    test(`broken: ${JSON.stringify(broken)}`, () => {
      assert.deepEqual(parseProgress(JSON.stringify({ version: 1, labs: {}, today: broken })), { kind: "broken" });
    });
  }
  test("merged by day; ours wins", () => {
    const theirs = { "2026-03-01": { lab: "b", startedAtMs: 5 }, "2026-03-02": { lab: "c", startedAtMs: 6 } };
    assert.deepEqual(mergeProgress({ version: 1, labs: {}, today }, { version: 1, labs: {}, today: theirs }).today, {
      ...theirs,
      ...today,
    });
  });
});
