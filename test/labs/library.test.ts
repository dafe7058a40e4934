import assert from "node:assert/strict";
import { test } from "vitest";
import { findLab, nearest, summaryOf } from "../../src/labs/library.js";
import { tinyLab } from "../support/tiny-lab.js";

const NAMES = ["heartbeats", "tokens", "csr", "bootstrap", "wrong-ca-hash"];

const table: readonly (readonly [string, string | undefined])[] = [
  ["hartbeat", "heartbeats"],
  ["token", "tokens"],
  ["CRS", "csr"],
  ["boostrap", "bootstrap"],
  ["ca-hash", "wrong-ca-hash"],
  ["qqqqqqqqqq", undefined],
  ["", undefined],
];
for (const [word, want] of table) {
  test(`nearest to ${word || "nothing"}: ${want ?? "none"}`, () => assert.equal(nearest(NAMES, word), want));
}

test("a lab is found by its id and by its number, in any case", async () => {
  const summaries = [summaryOf(await tinyLab())];
  for (const word of ["tiny", "TINY", "7"]) assert.equal(findLab(summaries, word)?.id, "tiny");
  assert.equal(findLab(summaries, "8"), undefined);
});
