import assert from "node:assert/strict";
import { test } from "vitest";
import {
  checkOptions,
  flag,
  labels,
  milliseconds,
  nodeName,
  type Rule,
  speed,
  taints,
  text,
  texts,
  wholeNumber,
} from "../../../src/lab/envtest/options.js";

const table: readonly (readonly [rule: string, of: Rule, fits: readonly unknown[], other: readonly unknown[]])[] = [
  ["text", text, ["a"], ["", 1, null]],
  ["flag", flag, [true, false], ["true", 1]],
  ["texts", texts, [[], ["a"]], ["a", [1], [""]]],
  ["speed", speed, [0.01, 1, 10_000], [0, -1, Number.NaN, Number.POSITIVE_INFINITY, "10"]],
  ["milliseconds", milliseconds, [0, 1.5], [-1, Number.NaN, Number.POSITIVE_INFINITY, "1"]],
  ["nodeName", nodeName, ["n1", "a-b"], ["", "N1", "a.b", "-a", "a-", "a".repeat(64)]],
  ["labels", labels, [{}, { a: "b" }], [[], { a: 1 }, "a=b"]],
  ["taints", taints, [[], [{ key: "a", effect: "NoSchedule" }]], [{}, [{ key: "a" }], [{ key: "a", effect: "No" }]]],
  ["wholeNumber", wholeNumber(0, 3), [0, 3], [-1, 4, 1.5, "1", Number.NaN]],
];

for (const [rule, of, fits, other] of table) {
  test(`${rule} takes ${JSON.stringify(fits)} and not ${JSON.stringify(other)}`, () => {
    for (const value of fits) assert.equal(of(value), undefined, JSON.stringify(value));
    for (const value of other) assert.equal(typeof of(value), "string", JSON.stringify(value));
  });
}

const rules = { name: text, speed };
for (const [options, message] of [
  [{ name: "a", speed: undefined }, undefined],
  [undefined, "f: expected an object of options"],
  ["a", "f: expected an object of options"],
  [{}, "f: option name is missing"],
  [{ name: "a", sped: 1 }, "f: unknown option sped"],
  [{ name: "a", constructor: 1 }, "f: unknown option constructor"],
  [{ name: () => 1 }, "f: option name is a function"],
] as const) {
  test(`options ${JSON.stringify(options)}: ${message ?? "fine"}`, () => {
    const check = () => checkOptions("f", options, rules, ["name"]);
    if (message === undefined) check();
    else assert.throws(check, { code: "USAGE", message });
  });
}
