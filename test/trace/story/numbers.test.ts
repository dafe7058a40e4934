import assert from "node:assert/strict";
import { test } from "vitest";
import type { Fact } from "../../../src/trace/events.js";
import { numberSteps } from "../../../src/trace/story/numbers.js";
import { leaseRule } from "../../../src/trace/story/rules.js";
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
    [1, 2, 3, 4, 5],
  );
});
