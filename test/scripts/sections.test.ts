import assert from "node:assert/strict";
import { test } from "vitest";
import { replaceSection } from "../../scripts/sections.js";

test("replaceSection replaces what is between the marks of its section only", () => {
  const text = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n<!-- begin y -->\nkept\n<!-- end y -->\n";
  assert.equal(replaceSection(text, "x", "new"), text.replace("old", "new"));
});

test("replaceSection refuses a text without the marks", () => {
  assert.throws(() => replaceSection("a", "x", "new"), /marks of section x are missing/);
});
