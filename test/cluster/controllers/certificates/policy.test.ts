import assert from "node:assert/strict";
import { test } from "vitest";
import {
  DEFAULT_SIGNING_DURATION_MS,
  signingDuration,
  validity,
} from "../../../../src/cluster/controllers/certificates/policy.js";

const HOUR = 3600;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

const table: readonly (readonly [number | undefined, number, number])[] = [
  // expirationSeconds, the CA's end after now, notAfter after now (all in seconds)
  [600, 10 * YEAR, 600],
  [HOUR, 10 * YEAR, HOUR],
  [8 * HOUR - 1, 10 * YEAR, 8 * HOUR - 1],
  [8 * HOUR, 10 * YEAR, 8 * HOUR - 300],
  [DAY, 10 * YEAR, DAY - 300],
  [undefined, 10 * YEAR, YEAR - 300],
  [10 * YEAR, 10 * YEAR, YEAR - 300],
  [undefined, 5 * DAY, 5 * DAY],
  [DAY, HOUR, HOUR],
  [60, 10 * YEAR, 600],
];
for (const [asked, caEnd, want] of table) {
  test(`expirationSeconds ${asked}, CA ends in ${caEnd} s: ends in ${want} s, began 300 s ago`, () => {
    const nowMs = Date.UTC(2026, 5, 1);
    const window = validity(nowMs, signingDuration(asked, DEFAULT_SIGNING_DURATION_MS), nowMs + caEnd * 1000);
    assert.equal((window.notAfterMs - nowMs) / 1000, want);
    assert.equal((window.notBeforeMs - nowMs) / 1000, -300);
  });
}

test("an expired CA signs nothing", () => {
  const nowMs = Date.UTC(2026, 5, 1);
  assert.throws(() => validity(nowMs, 600_000, nowMs - 1000), /expired in the past: NotAfter=2026-05-31T23:59:59/);
  assert.throws(() => validity(nowMs, 600_000, nowMs - 301_000), /the signer has expired/);
});
