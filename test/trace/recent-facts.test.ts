import assert from "node:assert/strict";
import { test } from "vitest";
import { RecentFacts } from "../../src/trace/recent-facts.js";
import { Trace } from "../../src/trace/trace.js";
import { FakeClock } from "../support/fake-clock.js";

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
