import assert from "node:assert/strict";
import { Chalk } from "chalk";
import { test } from "vitest";
import { renderCode, renderMarkdown } from "../../../../src/commands/learn/play/markdown.js";

const PLAIN = new Chalk({ level: 0 });

/** two lines of a text, and the one line that a terminal shows */
const JOINED = [
  ["one", "two", "one two"],
  ["\u4e00\u4e2a", "\u8282\u70b9", "\u4e00\u4e2a\u8282\u70b9"],
  ["\u8282\u70b9", "kubelet", "\u8282\u70b9 kubelet"],
  ["\u4e00\u4e2a\uff0c", "`kubelet.sh`", "\u4e00\u4e2a\uff0ckubelet.sh"],
  ["`a.txt`", "\uff0c\u4e00\u4e2a", "a.txt\uff0c\u4e00\u4e2a"],
] as const;

test.each(JOINED)("the lines %s and %s become one", (first, second, want) => {
  assert.deepEqual(renderMarkdown(`${first}\n${second}`, PLAIN, 80), [want]);
});

test("code in a verdict is coloured, and has no marks with and without colour", () => {
  assert.equal(renderCode("wants `a *b*`", PLAIN), "wants a *b*");
  assert.equal(renderCode("wants `a`", new Chalk({ level: 1 })), "wants \u001b[36ma\u001b[39m");
});
