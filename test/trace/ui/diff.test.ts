import assert from "node:assert/strict";
import { test } from "vitest";
import { diffObjects } from "../../../src/trace/ui/browser/details/diff.js";

const table: readonly (readonly [title: string, before: unknown, after: unknown, changes: readonly string[]])[] = [
  [
    "a changed field",
    { status: { phase: "Pending" } },
    { status: { phase: "Running" } },
    ['status.phase "Pending" "Running"'],
  ],
  ["an added and a removed field", { a: 1 }, { b: { c: 2 } }, ["a 1 -", 'b - {"c":2}']],
  [
    "conditions are compared by type, not by place",
    { conditions: [{ type: "A", status: "False" }, { type: "B" }] },
    { conditions: [{ type: "B" }, { type: "A", status: "True" }] },
    ['conditions[A].status "False" "True"'],
  ],
  ["a list without names is compared by place", [1, 2], [1, 3], ["[1] 2 3"]],
  [
    "what changes with every write is left out",
    { metadata: { resourceVersion: "1" } },
    { metadata: { resourceVersion: "2" } },
    [],
  ],
  ["a list that became an object", { a: [] }, { a: {} }, ["a [] {}"]],
  ["hostile lists", { a: [null, null] }, { a: [null, { name: "x" }] }, ['a[1] null {"name":"x"}']],
];

for (const [title, before, after, changes] of table) {
  test(`diff: ${title}`, () => {
    const seen = diffObjects(before, after).map((one) => `${one.path} ${one.before ?? "-"} ${one.after ?? "-"}`);
    assert.deepEqual(seen, changes);
  });
}
