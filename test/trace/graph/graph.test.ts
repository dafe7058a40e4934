import assert from "node:assert/strict";
import { test } from "vitest";
import type { TraceEvent } from "../../../src/trace/events.js";
import { TraceGraph } from "../../../src/trace/graph/graph.js";
import { note, request, state, watch } from "../facts.js";

const ids = (events: readonly TraceEvent[]) => events.map(({ id }) => id).join(" ");

/** kubectl apply, what the API server stored, the scheduler's watch event, its binding. */
const JOURNEY: readonly TraceEvent[] = [
  request("apply", { version: "u@1", origin: "command", durationMs: 5 }),
  state("stored", { version: "u@1", causedBy: "apply" }),
  watch("seen", { causedBy: "u@1" }),
  request("bind", { causedBy: "seen", version: "u@2" }),
  watch("kubelet", { causedBy: "u@2" }),
];

/** All orders of up to five things. */
function permutations<T>(all: readonly T[]): T[][] {
  if (all.length < 2) return [[...all]];
  return all.flatMap((one, i) => permutations(all.toSpliced(i, 1)).map((rest) => [one, ...rest]));
}

test("graph: a version stands for what the API server stored, else for the client's request, in any order of facts", () => {
  for (const order of permutations(JOURNEY)) {
    const graph = TraceGraph.of(order);
    const last = graph.get("kubelet") as TraceEvent;
    assert.equal(ids(graph.chainOf(last)), "apply stored seen bind kubelet", ids(order));
    assert.equal(ids(graph.roots()), "apply");
    assert.equal(
      ids([...graph.walk(graph.roots()[0] as TraceEvent)].map(({ event }) => event)),
      "apply stored seen bind kubelet",
    );
  }
});

test("graph: without the API server's trace the request is the cause of the watch event", () => {
  const graph = TraceGraph.of(JOURNEY.filter(({ kind }) => kind !== "state"));
  assert.equal(ids(graph.effectsOf(graph.get("apply") as TraceEvent)), "seen");
  const whole = TraceGraph.of(JOURNEY);
  assert.equal(ids(whole.effectsOf(whole.get("apply") as TraceEvent)), "stored");
  assert.equal(ids(whole.effectsOf(whole.get("stored") as TraceEvent)), "seen");
});

test("graph: a request that changed nothing has the version of an earlier one, which stays the cause", () => {
  const facts = [
    request("no-op", { version: "u@1", atMs: 9 }),
    request("write", { version: "u@1", atMs: 3 }),
    watch("seen", { causedBy: "u@1" }),
  ];
  for (const order of permutations(facts)) {
    const graph = TraceGraph.of(order);
    assert.equal(graph.causeOf(graph.get("seen") as TraceEvent)?.id, "write");
  }
});

test("graph: a cause that is in no trace is not observed, until its fact comes", () => {
  const graph = new TraceGraph();
  const seen = watch("seen", { causedBy: "u@1" });
  graph.add(seen);
  assert.equal(graph.hasUnobservedCause(seen), true);
  assert.equal(ids(graph.roots()), "seen");
  graph.add(request("write", { version: "u@1", atMs: 0 }));
  assert.equal(graph.hasUnobservedCause(seen), false);
  assert.equal(ids(graph.roots()), "write");
  assert.equal(graph.hasUnobservedCause(graph.get("write") as TraceEvent), false);
});

test("graph: effects come by the time when they began", () => {
  const graph = TraceGraph.of([
    note("a", { atMs: 0 }),
    request("slow", { causedBy: "a", atMs: 100, durationMs: 90 }),
    note("between", { causedBy: "a", atMs: 50 }),
    note("first", { causedBy: "a", atMs: 5 }),
  ]);
  assert.equal(ids(graph.effectsOf(graph.get("a") as TraceEvent)), "first slow between");
});

test("graph: a fact that another process relayed counts once", () => {
  const graph = new TraceGraph();
  assert.equal(graph.add(note("a", {})), true);
  assert.equal(graph.add({ ...note("a", {}), seq: 77 }), false);
  assert.equal(graph.events.length, 1);
});

const CIRCLES = [
  ["a fact that caused itself", [["a", "a"]], "a"],
  [
    "two facts",
    [
      ["a", "b"],
      ["b", "a"],
    ],
    "a",
  ],
  [
    "a circle with a tail",
    [
      ["tail", "b"],
      ["b", "c"],
      ["c", "b"],
    ],
    "b",
  ],
] as const;
for (const [title, links, first] of CIRCLES) {
  test(`graph: ${title} in a circle: every fact is in one tree`, () => {
    const graph = TraceGraph.of(links.map(([id, causedBy]) => note(id, { causedBy })));
    assert.equal(ids(graph.roots()), first);
    for (const event of graph.events) assert.ok(graph.chainOf(event).length <= links.length);
    const seen = new Set<TraceEvent>();
    for (const root of graph.roots()) for (const _ of graph.walk(root, seen));
    assert.equal(seen.size, links.length);
  });
}

test("graph: a chain of 50,000 facts is followed without recursion", () => {
  const graph = TraceGraph.of(
    Array.from({ length: 50_000 }, (_, i) => note(String(i), i === 0 ? {} : { causedBy: String(i - 1) })).reverse(),
  );
  assert.equal(graph.chainOf(graph.get("49999") as TraceEvent).length, 50_000);
  assert.equal(ids(graph.roots()), "0");
  assert.equal([...graph.walk(graph.get("0") as TraceEvent)].at(-1)?.depth, 49_999);
});
