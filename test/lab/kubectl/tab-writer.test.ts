import assert from "node:assert/strict";
import { test } from "vitest";
import { alignTabs, DESCRIBE_TABS, GrowingColumns, TABLE_TABS } from "../../../src/lab/kubectl/tab-writer.js";

/** Go's text/tabwriter prints the same. */
const table: readonly (readonly [string, string, typeof TABLE_TABS, string])[] = [
  ["a column is as wide as its longest cell", "A\tB\tC\nlong\tb\tc\n", TABLE_TABS, "A      B     C\nlong   b     c\n"],
  ["the last cell belongs to no column", "a\tb\nlong text\nc\td\n", DESCRIBE_TABS, "a  b\nlong text\nc  d\n"],
  ["a column ends with a line that lacks it", "a:\tb\nnone\nlonger:\tc\n", DESCRIBE_TABS, "a:  b\nnone\nlonger:  c\n"],
  ["columns inside a column", "x\ty\tz\nxx\tyyy\tz\n", DESCRIBE_TABS, "x   y    z\nxx  yyy  z\n"],
  ["a tab at the end fills the last column", "A\tB\t\na\tbb\t\n", TABLE_TABS, "A     B     \na     bb    \n"],
];

test.each(table)("tabs: %s", (_, text, options, aligned) => {
  assert.equal(alignTabs(text, options), aligned);
});

test("columns of rows that come later keep their widths, and grow", () => {
  const columns = new GrowingColumns();
  assert.equal(columns.alignAll(["A\tB\tC", "long\tb\tc"]), "A      B     C\nlong   b     c\n");
  assert.equal(columns.alignAll(["a\tb\tc"]), "a      b     c\n");
  assert.equal(columns.alignAll(["much longer\tb\tc"]), "much longer   b     c\n");
  assert.equal(columns.alignAll(["a\tb\tc"]), "a             b     c\n");
});
