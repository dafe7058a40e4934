import assert from "node:assert/strict";
import { test } from "vitest";
import type { TraceEvent } from "../../src/trace/events.js";
import { Trace } from "../../src/trace/trace.js";
import { FakeClock, START_MS } from "../support/fake-clock.js";

function collect(): { trace: Trace; events: TraceEvent[]; clock: FakeClock } {
  const clock = new FakeClock();
  const trace = new Trace(clock);
  const events: TraceEvent[] = [];
  trace.addSink({ write: (event) => events.push(event) });
  return { trace, events, clock };
}

test("facts are numbered in order and stamped with the trace's clock", async () => {
  const { trace, events, clock } = collect();
  trace.emit({ kind: "note", text: "one" }, { actor: "user" });
  await clock.advance(1500);
  trace.emit({ kind: "note", text: "two" }, { actor: "kubelet" });
  assert.deepEqual(
    events.map(({ seq, atMs, actor }) => [seq, atMs - START_MS, actor]),
    [
      [1, 0, "user"],
      [2, 1500, "kubelet"],
    ],
  );
});

test("events inside a step have it as their cause, across awaits and concurrently", async () => {
  const { trace, events, clock } = collect();
  const work = (name: string) =>
    trace.step("kubelet", name, {}, async () => {
      await clock.sleep(10);
      trace.emit({ kind: "note", text: `in ${name}` }, { actor: "kubelet" });
    });
  const both = Promise.all([work("a"), work("b")]);
  await clock.advance(10);
  await both;
  const seqOf = (title: string) => events.find((event) => event.kind === "step" && event.title === title)?.seq;
  const causeOf = (text: string) => events.find((event) => event.kind === "note" && event.text === text)?.causedBy;
  assert.equal(causeOf("in a"), seqOf("a"));
  assert.equal(causeOf("in b"), seqOf("b"));
  assert.notEqual(seqOf("a"), seqOf("b"));
});

test("a chapter's name is on every fact, also inside steps; detached work keeps the chapter and loses the step", () => {
  const { trace, events } = collect();
  trace.chapter("lease", () =>
    trace.step("kubelet", "renew", {}, () => {
      trace.detached(() => trace.emit({ kind: "note", text: "loop" }, { actor: "kubelet" }));
    }),
  );
  assert.deepEqual(
    events.map(({ chapter, causedBy }) => [chapter, causedBy]),
    [
      ["lease", undefined],
      ["lease", undefined],
    ],
  );
});

test("a fact reported by an API server names the request as its cause", () => {
  const { trace, events } = collect();
  trace.step("kubelet", "ask", {}, () => {
    trace.emit({ kind: "note", text: "answer" }, { actor: "apiserver", causedBy: 41 });
  });
  assert.equal(events[1]?.causedBy, 41);
});

test("a step without sinks is not a cause: it does not enter the asynchronous context", () => {
  const quiet: TraceEvent[] = [];
  const write = (event: TraceEvent) => void quiet.push(event);
  const sinks = [undefined, { level: 0 as const, write }];
  for (const sink of sinks) {
    const trace = new Trace(new FakeClock());
    if (sink !== undefined) trace.addSink(sink);
    const value = trace.step("kubelet", "renew", {}, () => {
      assert.equal(trace.cause, undefined);
      trace.emit({ kind: "error", message: "no" }, { actor: "kubelet" });
      return 7;
    });
    assert.equal(value, 7);
  }
  assert.deepEqual(
    quiet.map(({ kind, causedBy }) => [kind, causedBy]),
    [["error", undefined]],
  );
});
