import assert from "node:assert/strict";
import { test } from "vitest";
import { jsonBytes } from "../../../src/staging/apimachinery/json-bytes.js";

test("is near the length of the JSON, whatever the shape", () => {
  const values = [
    { name: "x", labels: { app: "web", tier: "front" }, list: ["a", "b", { c: 1, d: null, e: true }] },
    { data: { a: "x".repeat(100_000) } },
    Array.from({ length: 1000 }, (_, i) => ({ index: i, name: `item-${i}` })),
  ];
  for (const value of values) {
    const { length } = JSON.stringify(value);
    const ratio = jsonBytes(value) / length;
    assert.ok(ratio > 0.8 && ratio < 1.6, `${ratio} of ${length}`);
  }
});
