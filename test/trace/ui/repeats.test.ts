import assert from "node:assert/strict";
import { test } from "vitest";
import type { Fact, TraceEvent } from "../../../src/trace/events.js";
import { foldRows } from "../../../src/trace/ui/browser/list/fold.js";
import type { Step } from "../../../src/trace/ui/browser/step.js";
import { Story } from "../../../src/trace/ui/browser/story.js";
import { titleOf } from "../../../src/trace/ui/browser/words.js";
import { PageFacts } from "./page-facts.js";

const LEASE = "/apis/coordination.k8s.io/v1/leases/n1";
const CALL = { server: "", identity: "", durationMs: 15, auditId: "" };
const timer = { origin: "timer" } as const;

/** A renewal: a request, the write that it causes, which is reported first, and the state. */
function renew(facts: PageFacts, status = 200, method = "PUT"): void {
  const id = `f${facts.events.length}`.padStart(16, "0");
  const version = `lease@${facts.events.length}`;
  const write: Fact = { kind: "state", subject: "leases n1", what: "stored", from: "1", to: "2", version };
  if (status < 300) facts.add(write, { actor: "apiserver", causedBy: id });
  facts.add({ kind: "request", method, path: `${LEASE}?timeout=10s`, status, ...CALL }, timer);
  Object.assign(facts.events.at(-1) ?? {}, { id });
  const at = { ...timer, every: "10 s" };
  if (status < 300)
    facts.add({ kind: "state", subject: "Lease n1", what: "renewTime", to: `${facts.events.length}` }, at);
}

const decide = (facts: PageFacts, what: string, options: object = timer) =>
  facts.add({ kind: "decision", what, why: "because" }, options);
const ready = (to: string): Fact => ({ kind: "state", subject: "node n1", what: "Ready", to });
const probe = (pod: string, code: string): readonly [Fact, object] => [
  { kind: "rpc", service: "RuntimeService", method: "ExecSync", endpoint: "", durationMs: 1, code },
  { ...timer, pod },
];

/** The titles of the folded list, with counters. */
function listOf(events: readonly TraceEvent[], opened?: (step: Step) => boolean, batches = 1): string[] {
  const story = new Story();
  const size = Math.ceil(events.length / batches);
  for (let i = 0; i < events.length; i += size)
    story.add(events.slice(i, i + size).map((event) => ({ event, bodies: undefined })));
  const wanted = new Set(opened === undefined ? [] : story.steps.filter(opened));
  const { rows, counters } = foldRows(story, story.steps, wanted, undefined);
  return rows.map((step) => {
    const repeat = counters.get(step);
    return titleOf(step.event).replace(LEASE, "lease").split("?")[0] + (repeat ? ` x${repeat.others.length + 1}` : "");
  });
}

const table: readonly (readonly [title: string, make: (facts: PageFacts) => void, list: readonly string[]])[] = [
  [
    "a renewal, its write and its state have one row each, the first with a counter",
    (facts) => {
      for (let i = 0; i < 3; i++) renew(facts);
    },
    ["PUT lease x3", "leases n1: stored 1 → 2", "Lease n1: renewTime 2 x3"],
  ],
  [
    "what is done differently, or fails, is not the same",
    (facts) => {
      renew(facts, 201, "POST");
      renew(facts);
      renew(facts, 409);
      renew(facts);
      renew(facts, 409);
    },
    [
      "POST lease",
      "leases n1: stored 1 → 2",
      "Lease n1: renewTime 2 x3",
      "PUT lease x2",
      "leases n1: stored 1 → 2",
      "PUT lease x2",
    ],
  ],
  [
    "numbers, times and random names do not matter, names do",
    (facts) => {
      decide(facts, "relist 1 of 10.5 s at 2026-01-01T00:00:00.000Z for 0123456789abcdef");
      decide(facts, "relist 2 of 11 s at 2026-01-01T00:00:01.000Z for 123456789abcdef0");
      decide(facts, "keep web-1");
      decide(facts, "keep web-2");
    },
    ["relist 1 of 10.5 s at 2026-01-01T00:00:00.000Z for 0123456789abcdef x2", "keep web-1", "keep web-2"],
  ],
  [
    "a change of state is never folded, nor what led to it",
    (facts) => {
      for (const to of ["True", "False", "True"]) facts.add(ready(to), { causedBy: decide(facts, "look at n1") });
    },
    ["look at n1", "node n1: Ready True", "look at n1", "node n1: Ready False", "look at n1", "node n1: Ready True"],
  ],
  [
    "another pod and another outcome are not the same",
    (facts) => {
      for (const [pod, code] of [
        ["a", "OK"],
        ["b", "OK"],
        ["a", "OK"],
        ["a", "Unknown"],
      ] as const)
        facts.add(...probe(pod, code));
    },
    ["RuntimeService/ExecSync x2", "RuntimeService/ExecSync", "RuntimeService/ExecSync"],
  ],
  [
    "what a user does twice is not a repeat",
    (facts) => {
      for (let i = 0; i < 2; i++) decide(facts, "apply", { origin: "command" });
    },
    ["apply", "apply"],
  ],
  [
    "what does less than another time is one, such as the last one, which is not over",
    (facts) => {
      for (let i = 0; i < 2; i++) decide(facts, "then this", { causedBy: decide(facts, "look") });
      decide(facts, "look");
    },
    ["look x3", "then this"],
  ],
  [
    "a circle of causes ends",
    (facts) => {
      decide(facts, "a", { causedBy: "0000000000000002" });
      decide(facts, "b", { causedBy: "0000000000000001" });
    },
    ["a", "b"],
  ],
];
for (const [title, make, list] of table) {
  test(`repeats: ${title}`, () => {
    const facts = new PageFacts();
    make(facts);
    assert.deepEqual(listOf(facts.events), list);
    assert.deepEqual(listOf(facts.events, undefined, facts.events.length), list, "also fact by fact");
  });
}

test("repeats: an opened one is shown each time", () => {
  const facts = new PageFacts();
  for (let i = 0; i < 3; i++) renew(facts);
  const list = listOf(facts.events, ({ event }) => event.kind === "request");
  assert.deepEqual(list.slice(0, 4), [
    "PUT lease x3",
    "leases n1: stored 1 → 2",
    "Lease n1: renewTime 2 x3",
    "PUT lease",
  ]);
  assert.equal(list.length, 7);
});

test("repeats: the counter is at the first row that the filter shows", () => {
  const facts = new PageFacts();
  for (let i = 0; i < 2; i++) renew(facts);
  const story = new Story();
  story.add(facts.events.map((event) => ({ event, bodies: undefined })));
  const shown = story.steps.filter(({ event }) => event.kind === "state" && event.what === "stored");
  const { rows, counters } = foldRows(story, shown, new Set(), shown[1]);
  assert.equal(rows.length, 2, "what is selected stays");
  assert.deepEqual([...counters.keys()], [shown[0]]);
});
