import assert from "node:assert/strict";
import { test } from "vitest";
import { expand } from "../../../src/kubelet/container/expansion.js";

const VALUES: Readonly<Record<string, string>> = { A: "1", B: "two", EMPTY: "", NESTED: "$(A)", "a b": "space" };

/** Upstream's own cases are among them: third_party/forked/golang/expansion/expand_test.go */
const table = [
  ["$(A)", "1"],
  ["___$(A)___", "___1___"],
  ["$(A)-$(B)", "1-two"],
  ["$(A)$(A)", "11"],
  ["$(EMPTY)x", "x"],
  ["$(NESTED)", "$(A)"],
  ["$(MISSING)", "$(MISSING)"],
  ["$(a b)", "space"],
  ["$$(A)", "$(A)"],
  ["$$$(A)", "$1"],
  ["$$$$(A)", "$$(A)"],
  ["$$", "$"],
  ["$", "$"],
  ["a$", "a$"],
  ["$(A", "$(A"],
  ["$(A$(B)", "$(A$(B)"],
  ["$A", "$A"],
  ["$)", "$)"],
  ["$()", "$()"],
  ["foo$$(A)bar", "foo$(A)bar"],
] as const;
for (const [text, want] of table) {
  test(`expand: ${text} is ${want}`, () =>
    assert.equal(
      expand(text, (name) => VALUES[name]),
      want,
    ));
}
