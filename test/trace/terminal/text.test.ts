import assert from "node:assert/strict";
import { test } from "vitest";
import { shortIds, wrapBelowLabel } from "../../../src/trace/terminal/text.js";

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

const ID = "0123456789abcdef".repeat(4);
const UID = "6dab0383-524b-4982-9d13-c977132fac00";
test.each([
  [`kill ${ID}: ${UID}`, "kill 0123456789ab: 6dab0383"],
  [`containerd://${ID}`, "containerd://0123456789ab"],
  [`(${UID})`, "(6dab0383)"],
  // A digest is an answer in a lab, and a path is copied.
  [`sha256:${ID}`, `sha256:${ID}`],
  [`/pods/${UID}/volumes`, `/pods/${UID}/volumes`],
  [`/run/${ID}/config.json`, `/run/${ID}/config.json`],
  ["0123456789abcdef", "0123456789abcdef"],
])("short IDs: %s", (text, want) => {
  assert.equal(shortIds(text, true), want);
});
