import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import stringWidth from "string-width";
import { test } from "vitest";
import ZH from "../../../labs/messages.zh.json" with { type: "json" };
import { textWidth, wrap } from "../../../src/util/text/text-width.js";

const widths: readonly (readonly [text: string, columns: number])[] = [
  ["", 0],
  ["node-1", 6],
  ["心跳", 4],
  ["心跳 Lease", 10],
  ["\uff08是\uff09", 6],
  ["한글", 4],
  ["e\u0301", 1],
  ["a\u200bb", 2],
  ["\u001b[1m心\u001b[22m", 2],
  ["🚀", 2],
];
for (const [text, columns] of widths) {
  test(`${JSON.stringify(text)} takes ${columns} columns`, () => assert.equal(textWidth(text), columns));
}

test("every character of labs and catalogue is as wide as the package string-width has it", () => {
  const files = readdirSync("labs", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
  const all = files.map((name) => readFileSync(join("labs", name), "utf8")).join("") + Object.values(ZH).join("");
  const others = [...new Set(all)].filter((one) => textWidth(one) !== stringWidth(one));
  assert.deepEqual(others, []);
});

const wrapped: readonly (readonly [rule: string, text: string, lines: readonly string[]])[] = [
  ["breaks at spaces", "the kubelet renews its lease", ["the kubelet renews", "its lease"]],
  ["keeps line breaks", "one\ntwo", ["one", "two"]],
  [
    "breaks between Chinese characters, at the last column",
    "节点每十秒更新一次它的租约对象",
    ["节点每十秒更新一次它", "的租约对象"],
  ],
  ["begins no line with punctuation", "节点每十秒更新一次它\uff0c再等", ["节点每十秒更新一次", "它\uff0c再等"]],
  ["ends no line with an opening quote", "节点每十秒更新一次\u201c它\u201d", ["节点每十秒更新一次", "\u201c它\u201d"]],
  ["keeps a Latin word whole in Chinese", "kubelet 每十秒更新 leaseDuration", ["kubelet 每十秒更新", "leaseDuration"]],
  ["cuts a word that is longer than a line", "abcdefghijklmnopqrstuvwxyz", ["abcdefghijklmnopqrst", "uvwxyz"]],
  ["keeps a path whole", "see (file:///tmp/lab/step-picture.html)", ["see", "(file:///tmp/lab/step-picture.html)"]],
  [
    "keeps a path whole in Chinese",
    "全过程图\uff1a/tmp/a/picture.html\u3002",
    ["全过程图\uff1a", "/tmp/a/picture.html\u3002"],
  ],
  [
    "colours take no column",
    "\u001b[1mthe kubelet renews\u001b[22m it",
    ["\u001b[1mthe kubelet renews\u001b[22m", "it"],
  ],
];
for (const [rule, text, lines] of wrapped) {
  test(`in 20 columns: ${rule}`, () => assert.deepEqual(wrap(text, 20), lines));
}

test("in a frame no line is wider, so that a path is cut too", () => {
  assert.deepEqual(wrap("/tmp/labs/picture.html", 20, { cutsPaths: true }), ["/tmp/labs/picture.ht", "ml"]);
});
