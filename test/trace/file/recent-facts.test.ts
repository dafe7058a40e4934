import assert from "node:assert/strict";
import { test } from "vitest";
import type { TraceEvent } from "../../../src/trace/events.js";
import { RecentFacts } from "../../../src/trace/file/recent-facts.js";
import { Trace } from "../../../src/trace/trace.js";
import { FakeClock } from "../../support/fake-clock.js";

test("the last facts are kept, and found by a mark after others were dropped", () => {
  const facts = new RecentFacts(3);
  const trace = new Trace(new FakeClock());
  trace.addSink(facts);
  const texts = (mark?: number) => facts.since(mark).map((one) => one.kind === "note" && one.text);
  for (let count = 1; count <= 20; count++) {
    const mark = facts.count;
    trace.emit({ kind: "note", text: String(count) }, { actor: "user" });
    assert.deepEqual([mark, texts(mark)], [count - 1, [String(count)]]);
    assert.ok(texts().length <= 3);
  }
  assert.deepEqual(texts(), ["18", "19", "20"]);
  assert.deepEqual(texts(5), ["18", "19", "20"]);
  assert.deepEqual(texts(20), []);
});

test("bodies are kept for the last requests; an older fact stays without them, and so does one with a long body", () => {
  const facts = new RecentFacts(3, 100);
  const request = (id: string, body: string): TraceEvent =>
    ({ kind: "request", id, requestBody: body, responseBody: [1] }) as unknown as TraceEvent;
  const bodies = () => facts.since().map((one) => one.kind === "request" && one.requestBody);
  facts.write(request("a", "x".repeat(40)));
  facts.write(request("b", "y".repeat(40)));
  assert.deepEqual(bodies(), ["x".repeat(40), "y".repeat(40)]);
  facts.write(request("c", "z".repeat(200)));
  assert.deepEqual(bodies(), ["x".repeat(40), "y".repeat(40), undefined]);
  for (let i = 0; i < 20; i++) {
    facts.write(request("d", "u".repeat(40)));
    assert.ok(bodies().filter((body) => body !== undefined).length <= 2);
  }
  assert.deepEqual(bodies(), [undefined, "u".repeat(40), "u".repeat(40)]);
  const without = new RecentFacts(3);
  without.write(request("a", ""));
  assert.deepEqual(without.since(), [{ kind: "request", id: "a" }]);
});
