import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { waitingLines } from "../../../../src/commands/learn/play/waiting.js";
import { textWidth } from "../../../../src/util/text/text-width.js";

describe("what a check waits for is shown before the keys", () => {
  const keys = " (Esc: stop waiting)";
  const table: readonly (readonly [rule: string, text: string, lines: readonly string[]])[] = [
    ["both fit", "9 s left: a node", ["9 s left: a node (Esc: stop waiting)"]],
    [
      "the keys do not fit",
      "9 s left, waiting for: a node that is Ready",
      ["9 s left, waiting for: a node that is", "  Ready (Esc: stop waiting)"],
    ],
    [
      "the keys do not fit behind the last line",
      "9 s left, waiting for: a Ready node",
      ["9 s left, waiting for: a Ready node", "  (Esc: stop waiting)"],
    ],
    [
      "Chinese",
      "还剩 9 秒，等待：一个就绪的节点来运行",
      ["还剩 9 秒，等待：一个就绪的节点来运行", "  (Esc: stop waiting)"],
    ],
  ];
  for (const [rule, text, lines] of table) {
    test(rule, () => assert.deepEqual(waitingLines(text, keys, 38).split("\n"), lines));
  }
  test("a text that is much too long is cut after three lines, and the keys stay", () => {
    const lines = waitingLines("a node ".repeat(60), keys, 38).split("\n");
    assert.equal(lines.length, 4);
    assert.match(lines[2] ?? "", /\.\.\.$/);
    assert.equal(lines[3], "  (Esc: stop waiting)");
    for (const line of lines) assert.ok(textWidth(line) <= 40, line);
  });
});
