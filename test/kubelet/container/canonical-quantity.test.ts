import assert from "node:assert/strict";
import { test } from "vitest";
import { canonicalQuantity } from "../../../src/kubelet/container/canonical-quantity.js";

const table = [
  ["1", "1"],
  ["0", "0"],
  ["0Mi", "0"],
  [2, "2"],
  ["500m", "500m"],
  ["0.5", "500m"],
  ["1.5", "1500m"],
  ["1000", "1k"],
  ["1024Mi", "1Gi"],
  ["1.5Gi", "1536Mi"],
  ["0.5Ki", "512"],
  ["1000Ki", "1000Ki"],
  ["100M", "100M"],
  ["2e3", "2e3"],
  ["12E-1", "1200e-3"],
  ["-1", "-1"],
  ["1n", "1n"],
  ["", undefined],
  ["one", undefined],
  [undefined, undefined],
] as const;
for (const [text, want] of table) {
  test(`quantity: Go writes ${text} as ${want}`, () => assert.equal(canonicalQuantity(text), want));
}
