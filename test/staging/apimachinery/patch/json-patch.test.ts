import { describe, expect, test } from "vitest";
import {
  applyJsonPatch,
  JsonPatchError,
  type JsonPatchOperation,
} from "../../../../src/staging/apimachinery/patch/json-patch.js";
import { applyMergePatch } from "../../../../src/staging/apimachinery/patch/merge-patch.js";

const DOCUMENT = { a: { b: 1, "c/d": 2, "e~f": 3 }, list: [1, 2, 3], nothing: null };

/** Compared with github.com/evanphx/json-patch on generated patches. */
const APPLIES: [string, JsonPatchOperation[], object][] = [
  ["add a key", [{ op: "add", path: "/a/x", value: 9 }], { a: { ...DOCUMENT.a, x: 9 } }],
  ["add into a list", [{ op: "add", path: "/list/1", value: 9 }], { list: [1, 9, 2, 3] }],
  ["add at the end", [{ op: "add", path: "/list/-", value: 9 }], { list: [1, 2, 3, 9] }],
  [
    "remove, escaped",
    [
      { op: "remove", path: "/a/c~1d" },
      { op: "remove", path: "/a/e~0f" },
    ],
    { a: { b: 1 } },
  ],
  ["remove from a list", [{ op: "remove", path: "/list/0" }], { list: [2, 3] }],
  ["negative indexes count from the end", [{ op: "remove", path: "/list/-1" }], { list: [1, 2] }],
  ["replace", [{ op: "replace", path: "/a/b", value: [] }], { a: { ...DOCUMENT.a, b: [] } }],
  ["replace adds what is missing", [{ op: "replace", path: "/new", value: 1 }], { new: 1 }],
  ["move", [{ op: "move", from: "/list/0", path: "/first" }], { list: [2, 3], first: 1 }],
  ["copy", [{ op: "copy", from: "/list", path: "/a" }], { a: [1, 2, 3] }],
  [
    "test, then change",
    [
      { op: "test", path: "/list", value: [1, 2, 3] },
      { op: "remove", path: "/list/2" },
    ],
    { list: [1, 2] },
  ],
  [
    "test: null equals nothing",
    [
      { op: "test", path: "/a/none", value: null },
      { op: "test", path: "/nothing" },
    ],
    {},
  ],
];

const REFUSED: [string, JsonPatchOperation][] = [
  ["remove what is not there", { op: "remove", path: "/a/none" }],
  ["index out of range", { op: "replace", path: "/list/3", value: 0 }],
  ["add beyond the end", { op: "add", path: "/list/4", value: 0 }],
  ["not an index", { op: "add", path: "/list/x", value: 0 }],
  ["no container", { op: "add", path: "/none/x", value: 0 }],
  ["a failed test", { op: "test", path: "/a/b", value: "1" }],
  ["an unknown op", { op: "frob", path: "/a" }],
  ["no path", { op: "remove" }],
];

describe("JSON patch", () => {
  for (const [what, operations, changes] of APPLIES) {
    test(what, () => {
      const before = structuredClone(DOCUMENT);
      expect(applyJsonPatch(DOCUMENT, operations)).toEqual({ ...DOCUMENT, ...changes });
      expect(DOCUMENT).toEqual(before);
    });
  }
  for (const [what, operation] of REFUSED) {
    test(`refused: ${what}`, () => expect(() => applyJsonPatch(DOCUMENT, [operation])).toThrow(JsonPatchError));
  }
});

test("merge patch: null removes, objects merge, lists replace, the document stays", () => {
  const patch = { a: { b: null, x: { y: 1, z: null } }, list: [9] };
  expect(applyMergePatch(DOCUMENT, patch)).toEqual({
    a: { "c/d": 2, "e~f": 3, x: { y: 1 } },
    list: [9],
    nothing: null,
  });
  expect(DOCUMENT.a.b).toBe(1);
});
