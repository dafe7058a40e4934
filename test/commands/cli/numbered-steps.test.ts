import assert from "node:assert/strict";
import { test } from "vitest";
import { numberedLines } from "../../../src/commands/cli/numbered-steps.js";

const step = (number: number, text: string, because?: number, more: readonly string[] = []) => ({
  number,
  atMs: number * 1_500,
  actor: number === 1 ? "user" : "apiserver",
  text,
  more,
  ...(because === undefined ? {} : { because }),
});

const table: readonly (readonly [string, readonly ReturnType<typeof step>[], number, boolean, readonly string[]])[] = [
  ["no steps", [], 80, true, []],
  [
    "each caused the next: no numbers of causes",
    [step(1, "create"), step(2, "store", undefined, ["why", "a/file.go Func"])],
    80,
    true,
    [
      "  1   1.500 user      create",
      "  2   3.000 apiserver store",
      "                        why",
      "                        a/file.go Func",
    ],
  ],
  [
    "with causes",
    [step(1, "create", 0), step(2, "store", 1)],
    80,
    true,
    ["  1        1.500 user      create", "  2 ←1     3.000 apiserver store"],
  ],
  ["in ASCII", [step(2, "store", 1)], 80, false, ["  2 <1     3.000 apiserver store"]],
  [
    "long texts go on below their beginning, also on a narrow terminal",
    [step(1, "one two three four five six seven eight", undefined, ["and a reason that is long as well"])],
    20,
    true,
    [
      "  1   1.500 user one two three four five six",
      "                 seven eight",
      "                   and a reason that is long as",
      "                   well",
    ],
  ],
];
for (const [name, steps, columns, unicode, want] of table) {
  test(`numbered steps: ${name}`, () => assert.deepEqual(numberedLines(steps, columns, unicode), want));
}
