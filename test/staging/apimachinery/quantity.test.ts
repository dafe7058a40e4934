import assert from "node:assert/strict";
import { describe, expect, test } from "vitest";
import {
  canonicalQuantity,
  canonicalResourceQuantity,
  compareQuantities,
  milliValue,
  nanoValue,
  storedQuantity,
  subtractQuantity,
  sumQuantities,
  unitValue,
} from "../../../src/staging/apimachinery/quantity.js";

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
  test(`quantity: Go prints ${text} as ${want}`, () => assert.equal(canonicalQuantity(text), want));
}

const amounts: readonly (readonly [unknown, number | undefined, number | undefined])[] = [
  ["1", 1000, 1],
  ["100m", 100, 1],
  ["1.5", 1500, 2],
  [2, 2000, 2],
  ["1e3", 1_000_000, 1000],
  ["1Ki", 1_024_000, 1024],
  ["1n", 1, 1],
  ["1G", 1e12, 1e9],
  ["", undefined, undefined],
  ["1X", undefined, undefined],
  [{}, undefined, undefined],
];
for (const [text, milli, unit] of amounts) {
  test(`value of ${JSON.stringify(text)}`, () => {
    assert.equal(nanoValue(text) === undefined, milli === undefined);
    assert.equal(milliValue(text), milli ?? 0);
    assert.equal(unitValue(text), unit ?? 0);
  });
}

describe("quantities", () => {
  const table: [string, string, string][] = [
    // as written  in a resource list  elsewhere
    ["2000m", "2", "2000m"],
    ["4096Mi", "4Gi", "4096Mi"],
    ["0.5", "500m", "0.5"],
    ["1.5Gi", "1536Mi", "1536Mi"],
    ["1000", "1k", "1000"],
    ["1000Ki", "1000Ki", "1000Ki"],
    ["512", "512", "512"],
    ["0.0001", "1m", "0.0001"],
    ["-0.5", "-500m", "-0.5"],
    ["100u", "1m", "100u"],
    ["1e3", "1e3", "1e3"],
    ["1E", "1E", "1E"],
    ["0Mi", "0", "0Mi"],
    ["0.5Ki", "512", "512"],
    ["+5", "5", "+5"],
    [" 7 ", "7", "7"],
    ["1234567", "1234567", "1234567"],
    ["9223372036854775807", "9223372036854775807", "9223372036854775807"],
  ];
  for (const [text, inList, elsewhere] of table) {
    test(`${text}: ${inList} in a resource list, else ${elsewhere}`, () => {
      expect(canonicalResourceQuantity(text)).toBe(inList);
      expect(storedQuantity(text)).toBe(elsewhere);
    });
  }

  for (const text of ["", "lots", "1Q", "1 Gi", "1.2.3"]) {
    test(`refused: '${text}'`, () => expect(() => canonicalResourceQuantity(text)).toThrow("quantities must match"));
  }
  test("refused: an unknown suffix", () => {
    expect(() => storedQuantity("1ki")).toThrow("unable to parse quantity's suffix");
  });
});

for (const [from, amount, want] of [
  ["32Gi", "100Mi", "32668Mi"],
  ["32G", "100Mi", "31895142400"],
  ["50Mi", "100Mi", "0"],
] as const) {
  test(`${from} - ${amount} = ${want}`, () => assert.equal(subtractQuantity(from, amount), want));
}

for (const [amounts, want] of [
  ["1 500m", "1500m"],
  ["512Mi 512Mi", "1Gi"],
  ["1Gi 1G", "2073741824"],
  ["0 1Gi 1k", "1073742824"],
  ["0 1Mi 1023Mi", "1Gi"],
  ["1Gi 0", "1Gi"],
  ["1 -2", "-1"],
  ["0 0", "0"],
] as const) {
  test(`the sum of ${amounts} is ${want}`, () => assert.equal(sumQuantities(amounts.split(" ")), want));
}

test("a fraction of a binary unit keeps its precision", () => assert.equal(canonicalQuantity("1.0005Ki"), "1024512m"));

test("amounts compare across units", () => {
  assert.equal(compareQuantities("1Gi", "1024Mi"), 0);
  assert.equal(compareQuantities("1G", "1Gi"), -1);
});
