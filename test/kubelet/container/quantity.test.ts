import assert from "node:assert/strict";
import { test } from "vitest";
import { canonicalQuantity, milliUnits, parseQuantity, wholeUnits } from "../../../src/kubelet/container/quantity.js";

const table = [
  // text     canonical  thousandths        whole
  ["1", "1", 1000n, 1n],
  ["0", "0", 0n, 0n],
  ["500m", "500m", 500n, 1n],
  ["0.5", "500m", 500n, 1n],
  ["1.5", "1500m", 1500n, 2n],
  ["1000", "1k", 1_000_000n, 1000n],
  ["1024Mi", "1Gi", 1_073_741_824_000n, 1_073_741_824n],
  ["1.5Gi", "1536Mi", 1_610_612_736_000n, 1_610_612_736n],
  ["0.5Ki", "512", 512_000n, 512n],
  ["100M", "100M", 100_000_000_000n, 100_000_000n],
  ["2e3", "2e3", 2_000_000n, 2000n],
  ["12E-1", "1200e-3", 1200n, 2n],
  ["-1", "-1", -1000n, -1n],
  ["1n", "1n", 1n, 1n],
  ["0.0000000001", "1n", 1n, 1n],
] as const;
for (const [text, canonical, milli, whole] of table) {
  test(`quantity: ${text} is ${canonical}`, () => {
    const quantity = parseQuantity(text);
    assert.ok(quantity !== undefined);
    assert.deepEqual(
      [canonicalQuantity(quantity), milliUnits(quantity), wholeUnits(quantity)],
      [canonical, milli, whole],
    );
  });
}

for (const text of ["", "m", "1x", "1 Gi", "1KI", ".", "e3", "--1", "1.2.3", undefined, {}]) {
  test(`quantity: ${JSON.stringify(text)} is none`, () => assert.equal(parseQuantity(text), undefined));
}
