import assert from "node:assert/strict";
import { test } from "vitest";
import { MAX_BODY_TEXT, MAX_TEXT } from "../../src/trace/bounded.js";
import type { TraceEvent } from "../../src/trace/events.js";
import { Trace } from "../../src/trace/trace.js";
import { FakeClock } from "../support/fake-clock.js";

function emitted(path: string, requestBody?: unknown): TraceEvent {
  const request = {
    kind: "request",
    method: "GET",
    server: "https://a",
    identity: "anonymous",
    durationMs: 1,
  } as const;
  const events: TraceEvent[] = [];
  const trace = new Trace(new FakeClock());
  trace.addSink({ write: (event) => events.push(event) });
  trace.emit(
    { ...request, auditId: "a", status: 403, outcome: "Forbidden", path, requestBody },
    { actor: "apiserver", causedBy: "0000000000000001" },
  );
  const [event] = events;
  assert.ok(event !== undefined);
  return event;
}

const cut = (length: number, max: number) => `${"a".repeat(max)}... (${length - max} more characters)`;

test("a path is traced up to its limit", () => {
  const event = emitted("a".repeat(MAX_TEXT + 7));
  assert.ok(event.kind === "request");
  assert.equal(event.path, cut(MAX_TEXT + 7, MAX_TEXT));
});

test("texts inside a body have a limit of their own", () => {
  const length = MAX_BODY_TEXT + 7;
  const event = emitted("/", { data: { a: "a".repeat(length), b: ["b".repeat(MAX_TEXT + 1)] } });
  assert.ok(event.kind === "request");
  assert.deepEqual(event.requestBody, { data: { a: cut(length, MAX_BODY_TEXT), b: ["b".repeat(MAX_TEXT + 1)] } });
});

test("a secret across the limit is masked before the text is cut", () => {
  const event = emitted(`${"a".repeat(MAX_TEXT - 10)} abcdef.0123456789abcdef`);
  assert.ok(event.kind === "request");
  assert.ok(!event.path.includes(".0"), event.path.slice(-60));
});
