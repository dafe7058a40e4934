import assert from "node:assert/strict";
import { test } from "vitest";
import type { Fact, TraceEvent } from "../../src/trace/events.js";
import type { TraceSink } from "../../src/trace/trace.js";
import { translated, translatedSink } from "../../src/trace/translated.js";
import { fact } from "./facts.js";

const say = (text: string) => `<${text}>`;

const rows: readonly (readonly [fact: Fact, fields: readonly string[]])[] = [
  [{ kind: "step", title: "a" }, ["title"]],
  [{ kind: "decision", what: "a", why: "b" }, ["what", "why"]],
  [{ kind: "state", subject: "a", what: "b", from: "c", to: "d" }, ["subject", "what", "from", "to"]],
  [{ kind: "state", subject: "a", what: "b", to: "d" }, ["subject", "what", "to"]],
  [{ kind: "note", text: "a" }, ["text"]],
  [{ kind: "error", message: "a", hint: "b" }, ["message", "hint"]],
  [{ kind: "event", type: "Normal", reason: "a", message: "b", object: "c" }, []],
  [{ kind: "watch", type: "ADDED", resource: "a", object: "b" }, []],
];

for (const [original, fields] of rows) {
  test(`a ${original.kind}: ${fields.join(", ") || "nothing is translated"}`, () => {
    const event = fact("1", original, {});
    const changed = Object.fromEntries(fields.map((name) => [name, say(String(event[name as keyof TraceEvent]))]));
    assert.deepEqual(translated(event, say), { ...event, ...changed });
  });
}

test("a table has its title, heads and sentences in the other language; a cell of one word is a name", () => {
  const table = fact("1", { kind: "table", title: "a", columns: ["b"], rows: [["c", "d e"]] }, {});
  assert.deepEqual(translated(table, say), { ...table, title: "<a>", columns: ["<b>"], rows: [["c", "<d e>"]] });
});

test("a sink keeps its level, and is closed", async () => {
  const seen: TraceEvent[] = [];
  let isClosed = false;
  const sink: TraceSink = {
    level: 2,
    write: (event) => seen.push(event),
    close: async () => {
      isClosed = true;
    },
  };
  const other = translatedSink(sink, say);
  other.write(fact("1", { kind: "note", text: "a" }, {}));
  await other.close?.();
  assert.deepEqual([other.level, seen.map((one) => one.kind === "note" && one.text), isClosed], [2, ["<a>"], true]);
});
