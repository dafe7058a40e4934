import assert from "node:assert/strict";
import { test } from "vitest";
import { parseGoDuration } from "../../../src/staging/apimachinery/time.js";

const durations = [
  // text, ms
  ["1m20s", 80_000],
  ["-1.5h", -5_400_000],
  ["+.5s", 500],
  ["0", 0],
  ["1h2m3s4ms5us6ns", 3_723_004.005006],
] as const;
for (const [text, ms] of durations) {
  test(`${text} is ${ms} ms`, () => assert.equal(parseGoDuration(text), ms));
}

const refused = [
  ["", 'time: invalid duration ""'],
  ["-", 'time: invalid duration "-"'],
  ["10", 'time: missing unit in duration "10"'],
  ["1m10", 'time: missing unit in duration "1m10"'],
  ["10 s", 'time: unknown unit " s" in duration "10 s"'],
  ["1d", 'time: unknown unit "d" in duration "1d"'],
  ["1.2.3s", 'time: missing unit in duration "1.2.3s"'],
  ["abc", 'time: invalid duration "abc"'],
] as const;
for (const [text, message] of refused) {
  test(`${JSON.stringify(text)} is not a duration`, () => assert.throws(() => parseGoDuration(text), { message }));
}
