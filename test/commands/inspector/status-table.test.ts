import assert from "node:assert/strict";
import { test } from "vitest";
import { withStatus } from "../../../src/commands/inspector/key-table.js";

const columns = ["pod", "phase"];
const rows = (count: number) => Array.from({ length: count }, (_, i) => [`default/web-${i}`, "Running"]);

const table: readonly (readonly [string, readonly (readonly string[])[], number, readonly string[]])[] = [
  ["no rows: the keys alone", [], 80, ["q quit"]],
  [
    "rows above the keys",
    rows(2),
    80,
    ["POD            PHASE", "  default/web-0  Running", "  default/web-1  Running", "  q quit"],
  ],
  [
    "control characters are printed as text",
    [["a\u001b[2J", "x"]],
    80,
    ["POD       PHASE", "  a\\x1b[2J  x", "  q quit"],
  ],
];
for (const [name, given, width, want] of table) {
  test(`status: ${name}`, () => {
    const text = withStatus(() => ({ title: "", columns, rows: given }), width, "q quit");
    assert.deepEqual(text.split("\n"), want);
  });
}

test("status: of many rows six are shown, and the number of the others", () => {
  const lines = withStatus(() => ({ title: "", columns, rows: rows(20) }), 80, "q quit").split("\n");
  assert.equal(lines.length, 9);
  assert.equal(lines.at(-2), "  ... 14 more");
});

test("status: no line is wider than the terminal", () => {
  const lines = withStatus(() => ({ title: "", columns, rows: rows(3) }), 12, "q quit").split("\n");
  for (const line of lines) assert(line.length <= 14, line);
});
