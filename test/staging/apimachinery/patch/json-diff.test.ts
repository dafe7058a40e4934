import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonDiff } from "../../../../src/staging/apimachinery/patch/json-diff.js";
import { applyJsonPatch } from "../../../../src/staging/apimachinery/patch/json-patch.js";

const table: readonly (readonly [name: string, before: unknown, after: unknown, patch: readonly string[]])[] = [
  ["nothing", { a: { b: [1] } }, { a: { b: [1] } }, []],
  ["a new field", { a: 1 }, { a: 1, b: { c: 2 } }, ['add /b {"c":2}']],
  ["a field inside", { a: { b: 1 } }, { a: { b: 2 } }, ["replace /a/b 2"]],
  ["a removed field", { a: 1, b: 2 }, { b: 2 }, ["remove /a"]],
  ["undefined is absent", { a: undefined, b: 1 }, { b: undefined }, ["remove /b"]],
  ["null is a value", { a: null }, { a: "x" }, ['replace /a "x"']],
  ["an element at the end", { l: [{ a: 1 }] }, { l: [{ a: 1 }, { b: 2 }] }, ['add /l/1 {"b":2}']],
  ["an element elsewhere", { l: [2] }, { l: [1, 2] }, ["replace /l [1,2]"]],
  ["fewer elements", { l: [1, 2] }, { l: [1] }, ["replace /l [1]"]],
  ["a changed element", { l: [{ a: 1 }, 2] }, { l: [{ a: 3 }, 2] }, ["replace /l/0/a 3"]],
  ["another type", { a: [1] }, { a: { b: 1 } }, ['replace /a {"b":1}']],
  ["keys with signs", { "a/b": { "~": 1 } }, { "a/b": { "~": 2 } }, ["replace /a~1b/~0 2"]],
];

for (const [name, before, after, patch] of table) {
  test(`JSON diff: ${name}`, () => {
    const lines = jsonDiff(before, after).map(({ op, path, value }) =>
      [op, path, ...(value === undefined ? [] : [JSON.stringify(value)])].join(" "),
    );
    expect(lines).toEqual(patch);
  });
}

test("a JSON diff, applied to what was before, gives what is after", () => {
  const json = fc.dictionary(fc.constantFrom("a", "b", "c/d", "~"), fc.jsonValue({ maxDepth: 3 }));
  fc.assert(
    fc.property(json, json, (before, after) => {
      expect(applyJsonPatch(before, jsonDiff(before, after))).toEqual(after);
    }),
  );
});
