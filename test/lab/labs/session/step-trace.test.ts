import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Step } from "../../../../src/lab/labs/format/schema.js";
import { check } from "../../../../src/lab/labs/format/schema.js";
import { aboutOf, LabTrace } from "../../../../src/lab/labs/session/step-trace.js";
import type { Fact, TraceEvent } from "../../../../src/trace/events.js";
import { plainText } from "../../../../src/trace/terminal/options.js";
import { unbrokenLines } from "../../../../src/trace/terminal/unbroken.js";
import { Sentences } from "../../../../src/util/i18n/sentences.js";
import { fact } from "../../../trace/facts.js";

const OUTPUT = check.parse({ all: [{ output: "go", matches: "Ready" }, { not: { output: "go", matches: "Failed" } }] });
const OBJECT = check.parse({ object: "/api/v1/nodes/a", field: "status.phase", matches: "Run" });
const go = { id: "go", do: "kubelab go", exit: 0, where: "here", keep: true, until: "up" } as const;
const look: Step = { id: "look", observe: "go", lines: ["Relist 1"], upstream: "pkg/a.go b" };

describe("what the trace of a step is about", () => {
  const table: readonly (readonly [what: string, step: Step, patterns: readonly string[]])[] = [
    [
      "its start, its check, and what is looked at later",
      { ...go, expect: OUTPUT },
      ["Relist 1", "up", "Ready", "Failed"],
    ],
    ["a check of an object names no line", { ...go, expect: OBJECT, until: undefined }, ["Relist 1"]],
    [
      "the outcomes of a prediction",
      { id: "guess", predict: ["a", "b"], run: [{ run: "x", exit: 0 }], outcomes: { a: OUTPUT, b: OBJECT } },
      ["Ready", "Failed"],
    ],
    ["the author's choice", { ...go, expect: OUTPUT, shows: ["Page"] }, ["Page"]],
    ["a text to read has none", { id: "read", read: true }, []],
  ];
  test.each(table)("%s", (_, step, patterns) => {
    assert.deepEqual(aboutOf(step, { steps: [look] }), patterns);
  });
});

const { say } = new Sentences({ "see Node {1}": "看到节点 {1}" });

/** How a lab's trace takes a fact: `about +2` with two more lines awaited. */
function take(trace: LabTrace, event: TraceEvent, isChinese = false) {
  const options = { ...plainText({ width: () => 80, verbosity: 2, startMs: 0 }), say: isChinese ? say : undefined };
  const message = trace.messageOf({ event, lines: unbrokenLines(event, 0, options), options });
  assert.ok(message.kind === "trace");
  return message;
}

function begun(shows: readonly string[], explained: string[] = []): LabTrace {
  const trace = new LabTrace({ steps: [], explained });
  trace.begin({ ...go, shows: [...shows] });
  return trace;
}

const DECISION: Fact = {
  kind: "decision",
  what: "see Node n1",
  why: "it is new",
  constants: [{ name: "period", value: "1 s" }],
};
const STATE: Fact = { kind: "state", subject: "Node n1", what: "", to: "Ready" };
const REQUEST: Fact = {
  kind: "request",
  method: "GET",
  path: "/api/v1/nodes",
  server: "s",
  identity: "i",
  status: 200,
  durationMs: 1,
  auditId: "a",
};

describe("how much a fact matters to a step", () => {
  const table: readonly (readonly [what: string, shows: readonly string[], of: Fact, level: number, want: string])[] = [
    ["a pattern finds its line", ["Node n1"], DECISION, 1, "about"],
    ["a request too", ["GET /api"], REQUEST, 2, "about"],
    ["decisions have what room is left", ["other"], DECISION, 1, "more"],
    ["a change has not", ["other"], STATE, 1, "none"],
    ["unless nothing is said", [], STATE, 1, "more"],
    ["requests are only counted", [], REQUEST, 2, "none"],
    ["details of -v 2 too", [], DECISION, 2, "none"],
    ["a note greets", [], { kind: "note", text: "kubelab pleg at https://h" }, 1, "none"],
    ["a page is opened", [], { kind: "note", text: "Page: http://127.0.0.1:1/" }, 1, "more"],
    ["a warning", [], { kind: "event", type: "Warning", reason: "R", message: "m", object: "Pod/a" }, 1, "more"],
    [
      "other events repeat states",
      [],
      { kind: "event", type: "Normal", reason: "R", message: "m", object: "Pod/a" },
      1,
      "none",
    ],
  ];
  test.each(table)("%s", (_, shows, of, level, want) => {
    assert.equal(take(begun(shows), fact("1", of, { level })).interest, want);
  });

  test("all lines of a step count from its first command; a step without commands goes on with the last one's times", () => {
    const trace = begun([]);
    const at = (atMs: number, startMs: number) => {
      const event = fact("1", STATE, { atMs });
      const options = plainText({ width: () => 80, verbosity: 2, startMs });
      const message = trace.messageOf({ event, lines: unbrokenLines(event, 0, options), options });
      return message.kind === "trace" && message.afterMs;
    };
    assert.deepEqual([at(110, 100), at(230, 200), trace.startMs], [10, 130, 100]);
    trace.begin(look);
    assert.equal(trace.startMs, 100);
    trace.begin(go);
    assert.deepEqual([at(330, 300), trace.startMs], [30, 300]);
  });

  test("room is kept for the lines that are still to come, four at most", () => {
    const trace = begun(["Node n1", "1st", "2nd", "3rd", "4th", "5th"]);
    assert.deepEqual([take(trace, fact("1", STATE, {})).awaited, take(trace, fact("2", STATE, {})).awaited], [4, 4]);
    const short = begun(["Node n1", "Ready", "later"]);
    assert.equal(take(short, fact("1", STATE, {})).awaited, 1);
  });

  test("below the sentence stand the lines that a pattern finds, in the learner's language", () => {
    const trace = begun(["see Node", "period = 1 s"]);
    const message = take(trace, fact("1", DECISION, {}), true);
    assert.deepEqual([message.interest, message.details], ["about", ["period = 1 s"]]);
    assert.equal(message.fact.kind === "decision" && message.fact.what, "看到节点 n1");
  });

  test("of a large table those rows; a small one is whole", () => {
    const rows = ["a", "b", "c", "d", "e", "f", "g"].map((name) => [name, name === "b" ? "exited" : "running"]);
    const of = (shows: readonly string[], shown = rows) => {
      const table: Fact = { kind: "table", title: "states", columns: ["pod", "new"], rows: shown };
      const { fact: one } = take(begun(shows), fact("1", table, {}));
      return one.kind === "table" && one.rows;
    };
    assert.deepEqual([of(["b +exited"]), of(["states"])], [[["b", "exited"]], rows]);
    assert.deepEqual(of(["b +exited"], rows.slice(0, 6)), rows.slice(0, 6));
  });
});

describe("stages that were explained", () => {
  const stage = (id: string, title: string, causedBy?: string) =>
    fact(
      id,
      { kind: "step", title, upstream: { file: "pkg/a.go", func: "A" } },
      causedBy === undefined ? {} : { causedBy },
    );
  const decision = (id: string, causedBy: string) => fact(id, DECISION, { causedBy });
  const interests = (trace: LabTrace, events: readonly TraceEvent[]) =>
    events.map((event) => take(trace, event).interest);
  const EVENTS = [
    stage("1", "Join n1"),
    decision("2", "1"),
    stage("3", "Check", "1"),
    stage("4", "Store it"),
    stage("5", "Run"),
    decision("6", "5"),
  ];

  test("by an earlier step: one line, without what is below it, also for several in a row", () => {
    const trace = begun([]);
    assert.deepEqual(interests(trace, EVENTS.slice(0, 4)), Array(4).fill("more"));
    trace.begin({ ...go, id: "again", shows: [] });
    const again = EVENTS.map((one) => ({
      ...one,
      id: `${one.id}b`,
      ...(one.causedBy && { causedBy: `${one.causedBy}b` }),
    }));
    assert.deepEqual(interests(trace, again), ["more", "none", "none", "none", "more", "more"]);
  });

  test("by an earlier lab, as the author says; what the step is about is shown all the same", () => {
    assert.deepEqual(interests(begun(["Check"], ["^.*Join", "Store"]), EVENTS), [
      "more",
      "none",
      "about",
      "none",
      "more",
      "more",
    ]);
  });
});
