import assert from "node:assert/strict";
import { test } from "vitest";
import type { LabDefinition } from "../../../../src/lab/labs/format/schema.js";
import { withoutChecks } from "../../../../src/lab/labs/session/picture.js";
import type { TraceEvent } from "../../../../src/trace/events.js";
import { Trace } from "../../../../src/trace/trace.js";
import { FakeClock } from "../../../support/fake-clock.js";

test("a picture has neither the commands of checks nor what they caused", () => {
  const events: TraceEvent[] = [];
  const trace = new Trace(new FakeClock());
  trace.addSink({ level: 3, write: (event) => events.push(event) });
  const command = (title: string) =>
    trace.step("user", title, {}, () => {
      trace.emit({ kind: "note", text: `by ${title}` }, { actor: "user" });
    });
  for (const line of ["$ kubectl run web", "$ test answer", "$ cat outcome", "$ cat expected"]) command(line);
  const steps = [
    { id: "a", check: { all: [{ command: "test answer" }] }, solve: [{ run: "kubectl run web" }] },
    { id: "b", predict: ["x"], run: [], outcomes: { x: { command: "cat outcome" } } },
    { id: "c", do: "kubectl run web", expect: { command: "cat expected" } },
  ] as unknown as LabDefinition["steps"];
  const titles = withoutChecks(events, { steps }).map((fact) => (fact.kind === "step" ? fact.title : fact.kind));
  assert.deepEqual(titles, ["$ kubectl run web", "note"]);
});
