import assert from "node:assert/strict";
import { test } from "vitest";
import { FactHistory } from "../../../src/trace/ui/fact-history.js";

function historyOf(count: number, limits: { maxLines: number; maxSize: number }): FactHistory {
  const history = new FactHistory(limits);
  for (let i = 0; i < count; i++) history.push(`${i}`);
  return history;
}

const cases: readonly [
  string,
  number,
  { maxLines: number; maxSize: number },
  number,
  number,
  string,
  number,
  number,
][] = [
  // name, pushed, limits, from, maxSize of the reading, lines, left out, next
  ["all", 3, { maxLines: 5, maxSize: 100 }, 0, 100, "0 1 2", 0, 3],
  ["from a position", 3, { maxLines: 5, maxSize: 100 }, 2, 100, "2", 0, 3],
  ["nothing new", 3, { maxLines: 5, maxSize: 100 }, 3, 100, "", 0, 3],
  ["a part", 3, { maxLines: 5, maxSize: 100 }, 0, 2, "0 1", 0, 2],
  ["at least one", 3, { maxLines: 5, maxSize: 100 }, 0, 1, "0", 0, 1],
  ["too many lines", 9, { maxLines: 2, maxSize: 100 }, 0, 100, "7 8", 7, 9],
  ["too many characters", 9, { maxLines: 9, maxSize: 4 }, 1, 100, "5 6 7 8", 4, 9],
  ["one line that is too large", 11, { maxLines: 9, maxSize: 1 }, 0, 100, "", 11, 11],
];
for (const [name, count, limits, from, maxSize, lines, leftOut, next] of cases) {
  test(`a history gives ${name}`, () => {
    const part = historyOf(count, limits).read(from, maxSize);
    assert.deepEqual([part.lines.join(" "), part.leftOut, part.next], [lines, leftOut, next]);
  });
}
