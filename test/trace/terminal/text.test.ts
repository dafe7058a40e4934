import assert from "node:assert/strict";
import { test } from "vitest";
import { wrapBelowLabel } from "../../../src/trace/terminal/text.js";

const table: readonly (readonly [line: string, width: number, lines: readonly string[]])[] = [
  ["node n1 has joined and is Ready", 20, ["node n1 has joined", "and is Ready"]],
  ["  taints  one two three", 18, ["  taints  one two", "          three"]],
  ["          further words", 18, ["          further", "          words"]],
  ["  files   /a/path/that/is/long", 16, ["  files   /a/path/that/is/long"]],
  ["short", 80, ["short"]],
  ["", 80, [""]],
];
for (const [line, width, lines] of table) {
  test(`${JSON.stringify(line)} in ${width} columns`, () => {
    assert.deepEqual(wrapBelowLabel(line, width), lines);
  });
}
