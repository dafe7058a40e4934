import assert from "node:assert/strict";
import { test } from "vitest";
import { nearest } from "../../../src/util/text/nearest.js";

const NAMES = ["heartbeats", "tokens", "csr", "bootstrap", "wrong-ca-hash", "ListContainers"];

const table: readonly (readonly [string, string | undefined])[] = [
  ["hartbeat", "heartbeats"],
  ["token", "tokens"],
  ["CRS", "csr"],
  ["boostrap", "bootstrap"],
  ["ca-hash", "wrong-ca-hash"],
  ["listcontainer", "ListContainers"],
  ["qqqqqqqqqq", undefined],
  ["", undefined],
  ["heartbeats".repeat(100_000), undefined],
];
for (const [word, want] of table) {
  test(`nearest to ${word.slice(0, 20) || "nothing"}: ${want ?? "none"}`, () =>
    assert.equal(nearest(NAMES, word), want));
}
