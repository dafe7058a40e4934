import assert from "node:assert/strict";
import { test } from "vitest";
import type { TraceEvent } from "../../../src/trace/events.js";
import { factLine, firstLines, parseBodies, parseFacts } from "../../../src/trace/ui/facts.js";

const HOSTILE = "</script><script>alert(1)</script><!-- \u2028\u2029 \t \n \u202e";
const request: TraceEvent = {
  seq: 1,
  id: "0000000100000001",
  atMs: 1,
  actor: "user",
  level: 2,
  kind: "request",
  method: "GET",
  path: HOSTILE,
  server: "",
  identity: "",
  durationMs: 0,
  auditId: "",
  status: 200,
  responseBody: { text: HOSTILE },
};

test("facts: a line has no character that HTML or JavaScript gives a meaning, and says the same", () => {
  const line = factLine(request);
  assert.doesNotMatch(line.slice(0, -1), /[<\n\u2028\u2029]/);
  const [fact, ...others] = parseFacts(line);
  const { responseBody, ...rest } = request;
  assert.deepEqual([fact?.event, others], [rest, []]);
  assert.deepEqual(parseBodies(fact?.bodies), { responseBody });
});

test("facts: a line that a killed run cut off is left out, or loses its bodies", () => {
  const line = factLine(request);
  const tab = line.indexOf("\t");
  const idsOf = (text: string) => parseFacts(text).map(({ event }) => event.id);
  assert.deepEqual(idsOf(line + line.slice(0, tab - 5)), [request.id]);
  const [cut] = parseFacts(line.slice(0, -5));
  assert.equal(cut?.event.id, request.id);
  assert.deepEqual(parseBodies(cut?.bodies), {});
});

test("firstLines: whole lines only, also of a text that ends at the limit", () => {
  const text = "one\ntwo\nthree\n";
  const table = [
    [3, ""],
    [4, "one\n"],
    [7, "one\n"],
    [8, "one\ntwo\n"],
    [100, text],
  ] as const;
  for (const [maxChars, want] of table) assert.equal(firstLines(text, maxChars), want, String(maxChars));
  assert.equal(firstLines("no end", 100), "");
});
