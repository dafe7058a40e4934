import { Chalk } from "chalk";
import { expect, test } from "vitest";
import type { TraceEvent } from "../../../src/trace/events.js";
import { renderEvent } from "../../../src/trace/terminal/render-event.js";
import { wrappedTable } from "../../../src/trace/terminal/table.js";
import { Trace } from "../../../src/trace/trace.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";

const table: TraceEvent = {
  seq: 1,
  id: "0000000100000001",
  atMs: START_MS,
  actor: "kubelet",
  level: 1,
  kind: "table",
  title: "states",
  columns: ["pod", "container", "old", "new"],
  rows: [
    ["default/one", "app", "running", "exited"],
    ["default/one", "a\nb", "running", "\u001b[31m"],
    ["default/two", "sandbox", "non-existent", "running"],
  ],
  omittedRows: 3,
};
const render = (width: number) =>
  renderEvent(table, 1, {
    chalk: new Chalk({ level: 0 }),
    width: () => width,
    unicode: false,
    verbosity: 1,
    startMs: START_MS,
  }).map((line) => line.trim());

test("columns are aligned; line feeds and control characters of cells do no harm", () => {
  expect(render(100)).toEqual([
    "0.000 kubelet      states",
    "POD          CONTAINER  OLD           NEW",
    "default/one  app        running       exited",
    "default/one  a b        running       \\x1b[31m",
    "default/two  sandbox    non-existent  running",
    "... 3 more",
  ]);
});

test("in a table that is too wide the first column becomes headings", () => {
  expect(render(60).slice(1)).toEqual([
    "CONTAINER  OLD           NEW",
    "default/one",
    "app        running       exited",
    "a b        running       \\x1b[31m",
    "default/two",
    "sandbox    non-existent  running",
    "... 3 more",
  ]);
});

test("if headings do not help, each row is a sentence", () => {
  expect(render(52).slice(1).join(" ")).toContain("pod default/one, container app, old running, new exited");
});

test("a table whose sentences do not fit is a list of cells, which are aligned; empty cells are left out", () => {
  const rows = [
    ["default/one", "app", "terminating", "held until its status comes"],
    ["default/two", "", "syncing", "working"],
  ];
  const columns = ["pod", "container", "phase", "doing"];
  expect(wrappedTable({ columns, rows }, 40)).toEqual([
    "default/one",
    "  container  app",
    "  phase      terminating",
    "  doing      held until its status comes",
    "default/two",
    "  phase      syncing",
    "  doing      working",
  ]);
  expect(wrappedTable({ columns, rows }, 72)).toHaveLength(3);
});

test("wants returns true while one sink keeps events of the level", () => {
  const trace = new Trace(new FakeClock());
  expect(trace.wants(0)).toBe(false);
  trace.addSink({ level: 1, write: () => {} });
  expect([trace.wants(1), trace.wants(2)]).toEqual([true, false]);
  trace.addSink({ write: () => {} });
  expect(trace.wants(4)).toBe(true);
});
