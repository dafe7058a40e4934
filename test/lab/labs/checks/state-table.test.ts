import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { stateTables } from "../../../../src/lab/labs/checks/state-table.js";

const LINE = "curl -s http://127.0.0.1:18080/state";

describe("the state of a window is shown as tables", () => {
  test("values in one row, lists and maps in rows; what is empty is left out", () => {
    const state = {
      node: "n1",
      mirrorPods: 2,
      pods: [
        { name: "web", mirror: true, labels: [] },
        { name: "dns", uid: "u" },
      ],
      hashes: ["a", "b"],
      translations: { abc: "def" },
      faults: [],
      conditions: {},
    };
    assert.deepEqual(stateTables(LINE, JSON.stringify(state)), [
      { title: "", columns: ["node", "mirrorPods"], rows: [["n1", "2"]] },
      {
        title: "pods",
        columns: ["name", "mirror", "uid"],
        rows: [
          ["web", "true", ""],
          ["dns", "", "u"],
        ],
      },
      { title: "hashes", columns: ["hashes"], rows: [["a"], ["b"]] },
      { title: "translations", columns: ["name", "value"], rows: [["abc", "def"]] },
    ]);
  });
  const others: readonly (readonly [string, string])[] = [
    ["curl -s http://127.0.0.1:18080/state -o before.json", "{}"],
    ["sh -c 'curl -s http://127.0.0.1:18080/state | grep x'", "{}"],
    ["curl -s http://127.0.0.1:18080/pods", "{}"],
    [LINE, "curl: (7) refused"],
    [LINE, "[1]"],
  ];
  for (const [line, output] of others) {
    test(`not a state: ${line} ${output}`, () => assert.equal(stateTables(line, output), undefined));
  }
  test("flags are those that are set, and times have no date", () => {
    const workers = [{ pod: "web", sinceMs: 1_795_885_570_626, ageMs: 20, flags: { evicted: true, deleted: false } }];
    assert.deepEqual(stateTables(LINE, JSON.stringify({ workers })), [
      {
        title: "workers",
        columns: ["pod", "sinceMs", "ageMs", "flags"],
        rows: [["web", "17:06:10.626", "20", "evicted"]],
      },
    ]);
  });
  test("long values and long lists are cut", () => {
    const [table] = stateTables(LINE, JSON.stringify({ pods: Array(30).fill({ name: "x".repeat(100) }) })) ?? [];
    assert.equal(table?.rows.length, 12);
    assert.equal(table?.rows[0]?.[0]?.length, 60);
  });
});
