import assert from "node:assert/strict";
import { test } from "vitest";
import { startsBehindMs } from "../../../../src/lab/labs/environment/speed.js";

const HOUR_MS = 3_600_000;

test.each([
  [10, 1, 0],
  [10, 0.5, 0],
  [10, 3, HOUR_MS],
  [20, 11, 10 * HOUR_MS],
])("a lab of %d minutes at speed %d starts %d ms behind", (minutes, speed, want) => {
  assert.equal(startsBehindMs(minutes, speed), want);
});
