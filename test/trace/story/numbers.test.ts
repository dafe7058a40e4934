import assert from "node:assert/strict";
import { test } from "vitest";
import type { Fact } from "../../../src/trace/events.js";
import { numberSteps } from "../../../src/trace/story/numbers.js";
import { HOPS_RULE, leaseRule } from "../../../src/trace/story/rules.js";
import { tellStory } from "../../../src/trace/story/teller.js";
import type { EmitOptions } from "../../../src/trace/trace.js";
import { FakeClock } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";

const SILENCE = { file: "node_lifecycle_controller.go", func: "monitorNodeHealth" };

test("the countdown of a lease has the numbers of its story in the terminal", () => {
  const { trace, events } = recordingTrace(new FakeClock());
  numberSteps(trace, leaseRule("n1"));
  const story = tellStory(trace, leaseRule("n1"));
  const emit = (fact: Fact, options: EmitOptions) => trace.emit(fact, options).id;
  const renewed = emit({ kind: "step", title: "Renew the Lease of n1" }, { actor: "kubelet" });
  const silent = { kind: "decision", what: "n1 falls silent", why: "no renewals", upstream: SILENCE } as const;
  let causedBy = emit(silent, { actor: "kubelet", causedBy: renewed });
  for (const text of ["node n1 silent for 10 s", "node n1 silent for 20 s"])
    causedBy = emit({ kind: "note", text }, { actor: "controller", causedBy });
  emit({ kind: "decision", what: "set node n1 to Unknown", why: "x" }, { actor: "controller", causedBy });
  story[Symbol.dispose]();
  const numbers = new Map(events.map((event) => [event.id, trace.numberOf?.(event)]));
  const told = events.flatMap((event) => (event.kind === "story" && /silent/.test(event.title) ? event.steps : []));
  assert.deepEqual(
    told.map(({ fact }) => numbers.get(fact)),
    [1, 2, 3, 4],
  );
});

test("a request has its place in the numbers of its hops before it is reported", () => {
  const { trace, events } = recordingTrace(new FakeClock());
  numberSteps(trace, HOPS_RULE, true);
  trace.addSink({ write: (event) => void trace.numberOf?.(event) });
  const story = tellStory(trace, HOPS_RULE);
  const emit = (fact: Fact, options: EmitOptions) => trace.emit(fact, options).id;
  const run = emit({ kind: "step", title: "Run ls in web" }, { actor: "user" });
  const request = trace.newId();
  emit({ kind: "decision", what: "is admin", why: "x" }, { actor: "apiserver", causedBy: request });
  emit({ kind: "decision", what: "ask the kubelet: POST", why: "x" }, { actor: "apiserver", causedBy: request });
  const sent = { kind: "request", method: "POST", path: "/api/v1/namespaces/a/pods/web/exec", status: 101 } as const;
  const known = { server: "https://127.0.0.1:1", identity: "admin", auditId: "a" };
  emit({ ...sent, ...known, durationMs: 1 }, { actor: "user", id: request, causedBy: run, level: 1 });
  emit(
    { kind: "state", subject: "pods/exec", what: "connection", to: "ended" },
    { actor: "apiserver", causedBy: request },
  );
  // It has nothing to do with the connection.
  emit({ kind: "error", message: "x" }, { actor: "kubelet" });
  story[Symbol.dispose]();
  const numbers = events.flatMap((event) => (event.kind === "story" ? [] : [trace.numberOf?.(event)]));
  assert.deepEqual(numbers, [1, 3, 4, 2, 5, undefined]);
  const told = events.flatMap((event) => (event.kind === "story" ? event.steps.map(({ fact }) => fact) : []));
  const byNumber = new Map(events.map((event) => [trace.numberOf?.(event), event.id]));
  assert.deepEqual(
    told,
    [1, 2, 3, 4, 5].map((number) => byNumber.get(number)),
  );
});

test("a request is known by its audit ID where no sink keeps causes", () => {
  const { trace, events } = recordingTrace(new FakeClock());
  numberSteps(trace, HOPS_RULE, true);
  trace.addSink({ write: (event) => void trace.numberOf?.(event) });
  const causedBy = trace.emit({ kind: "step", title: "Run ls in web" }, { actor: "user" }).id;
  const auditId = "a";
  trace.emit({ kind: "decision", what: "is admin", why: "x", auditId }, { actor: "apiserver", causedBy: "other" });
  const sent = { kind: "request", method: "POST", path: "/exec", status: 101, durationMs: 1, auditId } as const;
  trace.emit({ ...sent, server: "https://127.0.0.1:1", identity: "admin" }, { actor: "user", causedBy, level: 1 });
  assert.deepEqual(
    events.map((event) => trace.numberOf?.(event)),
    [1, 3, 2],
  );
});
