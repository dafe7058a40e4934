import assert from "node:assert/strict";
import { test } from "vitest";
import { TreeBrowser } from "../../../src/commands/trace/tree-browser.js";
import { TraceGraph } from "../../../src/trace/graph/graph.js";
import { textWidth } from "../../../src/util/text/text-width.js";
import { fact, note, request } from "../../trace/facts.js";
import { HOSTILE } from "../../trace/hostile.js";

const STYLE = { zeroMs: 0, unicode: false };
const UP = "\u001b[A";
const DOWN = "\u001b[B";
const RIGHT = "\u001b[C";
const LEFT = "\u001b[D";

/**
 * a
 *   b
 *     xc
 *   xd
 * e
 */
const GRAPH = TraceGraph.of([
  note("a", { atMs: 0, origin: "command" }),
  request("b", { atMs: 20, durationMs: 10, causedBy: "a" }),
  note("xc", { atMs: 15, causedBy: "b", actor: "apiserver" }),
  note("xd", { atMs: 30, causedBy: "a" }),
  note("e", { atMs: 40 }),
]);

function browser(...keys: readonly string[]): TreeBrowser {
  const one = new TreeBrowser(GRAPH, STYLE);
  one.frame(80, 24);
  for (const key of keys) one.press(key);
  return one;
}

const factsOf = (one: TreeBrowser, rows = 24) =>
  one.frame(80, rows).flatMap(({ text, role }) => (role === "fact" || role === "selected" ? [text.trimEnd()] : []));

test("tree browser: effects stand below their cause, with what belongs to the selected fact below", () => {
  const frame = browser(DOWN).frame(80, 24);
  assert.deepEqual(
    frame.map(({ text, role }) => `${role} ${text.trimEnd()}`.trimEnd()),
    [
      "title 5 facts in 2 trees, line 2 of 5",
      "fact -   0.000 user - a",
      "selected -   0.010   user - POST /api/v1/namespaces/default/pods -> 201 (10 ms, as cer...",
      "fact     0.015     apiserver - xc",
      "fact     0.030   user - xd",
      "fact     0.040 user - e",
      ...Array.from({ length: 9 }, () => "fact"),
      `detail ${"-".repeat(80)}`,
      "detail user - POST /api/v1/namespaces/default/pods -> 201 (10 ms, as certificate",
      "detail kubernetes-admin)",
      "detail caused by user - a",
      "detail caused 1, id b",
      "detail",
      "detail",
      "detail",
      "keys up/down move  left/right fold, unfold  - + all  / search  n next  q quit",
    ],
  );
});

const MOVES = [
  // keys                          selected
  [[], "a"],
  [[DOWN, DOWN], "xc"],
  [["j", "j", "k"], "b"],
  [[UP], "a"],
  [["G"], "e"],
  [["G", "g"], "a"],
  [["\u001b[F", "\u001b[H"], "a"],
  [["\u001b[6~"], "e"],
  [["\u001b[6~", "\u001b[5~"], "a"],
  [[RIGHT, RIGHT], "xc"],
  [[DOWN, DOWN, LEFT], "b"],
  [[DOWN, DOWN, LEFT, LEFT, LEFT], "a"],
  [[DOWN, DOWN, "-"], "a"],
  [["\r", DOWN], "e"],
  [["\r", "\r", DOWN], "b"],
  [["-", "+", DOWN], "b"],
  [["/", "x", "d", "\r"], "xd"],
  [["-", "/", "X", "C", "\r"], "xc"],
  [["/", "x", "\r", "n", "n"], "xc"],
  [["/", "n", "q", "\u007f", "\u001b", DOWN], "b"],
  [["/", "p", "o", "s", "t", "\r", "n"], "b"],
  [["/", "zzz", "\r"], "a"],
  [["?", "\t", "\u001b[99~"], "a"],
] as const;
for (const [keys, id] of MOVES) {
  test(`tree browser: ${JSON.stringify(keys)} selects ${id}`, () => {
    assert.equal(browser(...keys).selected?.id, id);
  });
}

test("tree browser: folding hides all effects, and the line is marked", () => {
  assert.deepEqual(factsOf(browser("\r")).slice(0, 3), ["+   0.000 user - a", "    0.040 user - e", ""]);
});

test("tree browser: a search shows what is typed, and says when nothing has it", () => {
  assert.equal(browser("/", "z", "z").frame(80, 24).at(-1)?.text, "search: zz");
  assert.equal(browser("/", "z", "z", "\r").frame(80, 24).at(-1)?.text, 'no fact has "zz"');
  assert.equal(browser("/", "q").isTyping, true);
});

test("tree browser: the list scrolls with the selection", () => {
  const facts = Array.from({ length: 100 }, (_, i) => note(`${i}`, { atMs: i }));
  const one = new TreeBrowser(TraceGraph.of(facts), STYLE);
  one.frame(80, 24);
  for (let i = 0; i < 50; i++) one.press(DOWN);
  assert.equal(factsOf(one).at(-1), "    0.050 user - 50");
  one.press("\u001b[5~");
  assert.equal(factsOf(one)[0], "    0.036 user - 36");
});

for (const [columns, rows] of [
  [80, 24],
  [20, 5],
  [1, 1],
  [40, 2],
  [300, 100],
] as const) {
  test(`tree browser: a frame of ${columns}x${rows} fits, whatever the facts have in them`, () => {
    const facts = HOSTILE.map((text, i) =>
      fact(`${i}`, { kind: "decision", what: text, why: text }, { instance: text }),
    );
    const one = new TreeBrowser(TraceGraph.of(facts), { zeroMs: 0, unicode: true });
    for (const _ of facts) {
      const frame = one.frame(columns, rows);
      assert.equal(frame.length, rows);
      for (const { text } of frame) {
        assert.ok(textWidth(text) <= Math.max(columns, 20), JSON.stringify(text));
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none may reach the terminal
        assert.doesNotMatch(text, /[\u0000-\u001f\u007f-\u009f]/);
      }
      one.press(DOWN);
    }
  });
}
