import assert from "node:assert/strict";
import { test } from "vitest";
import { stepsOf } from "../../../../src/commands/learn/play/live.js";
import { LabFacts } from "../../../../src/lab/labs/environment/facts.js";
import { LabSession } from "../../../../src/lab/labs/session/session.js";
import type { TraceEvent } from "../../../../src/trace/events.js";
import { Trace } from "../../../../src/trace/trace.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";
import { InstantClock, MemoryPlace } from "../../../support/memory-place.js";
import { TINY_YAML, tinyLab } from "../../../support/tiny-lab.js";

for (const [language, title, now, note, finished] of [
  ["en", "Join", "now", "2/5 Join", "all steps are done"],
  ["zh", "加入", "当前", "2/5 加入", "所有步骤都已完成"],
] as const) {
  test(`the page shows the steps of a lab in the learner's language: ${language}`, async () => {
    const done = ["look"];
    const options = { language, seed: 1, emit: () => {} };
    const session = new LabSession(await tinyLab(TINY_YAML), new MemoryPlace(), { ...options, done });
    const table = stepsOf(sayIn(language), session);
    assert.deepEqual([table.rows.length, table.rows[1], table.note], [5, ["2", title, now], note]);
    const all = { ...options, done: ["look", "join", "lines", "guess", "back"] };
    const over = new LabSession(await tinyLab(TINY_YAML), new MemoryPlace(), all);
    assert.equal(stepsOf(sayIn(language), over).note, finished);
  });
}

test("the page gets the facts of a lab so far and those to come, without what checks and the page itself read", () => {
  const clock = new InstantClock();
  const facts = new LabFacts(clock);
  const trace = new Trace(clock);
  trace.addSink(facts);
  const note = (text: string, causedBy?: string) =>
    trace.emit({ kind: "note", text }, { actor: "user", ...(causedBy === undefined ? {} : { causedBy }) });
  note("early");
  const seen: string[] = [];
  facts.passTo({ write: (event: TraceEvent) => void (event.kind === "note" && seen.push(event.text)) });
  note("late");
  note("read", facts.reads.newId());
  assert.deepEqual(seen, ["early", "late"]);
});
