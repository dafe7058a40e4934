import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { findIn, linesWith } from "../../../../src/lab/labs/checks/match.js";

const TRACE = `  0.001 user       ▸ Give the token's group the right to ask for a
                     certificate
  0.204 kubelet      → GET /api/v1/nodes/atlas
                       200 OK in 3 ms
  0.300 kubelet      Ready
name: atlas
  phase: Ready`;

function asLines(text: string) {
  const lines = text.split("\n");
  return { english: lines, shown: lines };
}

describe("what to look at in what a command printed", () => {
  test.each([
    ["Ready$", "  0.300 kubelet      Ready"],
    ["200 OK", "                       200 OK in 3 ms"],
    ["NotReady", undefined],
  ])("/%s/ is in a line", (pattern, line) => {
    assert.deepEqual(linesWith(asLines(TRACE), [pattern]), [line]);
    assert.equal(findIn(TRACE, pattern) === undefined, line === undefined);
  });

  test.each(["to ask for a certificate", "atlas 200 OK", "in 3 ms 0\\.300", "atlas phase"])(
    "a check finds /%s/ in a sentence that a program of its own has broken",
    (pattern) => {
      assert.notEqual(findIn(TRACE, pattern), undefined);
    },
  );

  test("a sign of a trace is found as ASCII has it, too", () => {
    const plain = "  0.204 kubelet      o Node a: Ready False -> True\n  0.300 user         > Store the token";
    assert.deepEqual(linesWith(asLines(plain), ["Ready False → True", "▸ .*Store"]), plain.split("\n"));
    assert.equal(findIn(plain, "False → True$"), "False -> True");
    assert.equal(findIn(plain, "True → False"), undefined);
  });

  const LOG = "ADD a\nREMOVE a\nkill a\nADD a again\nend";
  const inOrder: readonly (readonly [patterns: readonly string[], lines: readonly string[]])[] = [
    [["ADD"], ["ADD a"]],
    [
      ["REMOVE", "ADD"],
      ["REMOVE a", "ADD a again"],
    ],
    [
      ["end", "REMOVE"],
      ["end", "REMOVE a"],
    ],
    [
      ["ADD", "never", "kill"],
      ["ADD a", "-", "kill a"],
    ],
  ];
  for (const [patterns, lines] of inOrder) {
    test(`${patterns.join(", then ")}: ${lines.join(", then ")}`, () => {
      assert.deepEqual(
        linesWith(asLines(LOG), patterns).map((found) => found ?? "-"),
        lines,
      );
    });
  }
});
