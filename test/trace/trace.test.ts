import assert from "node:assert/strict";
import { test } from "vitest";
import type { TraceEvent } from "../../src/trace/events.js";
import { currentScope, runInScope, type Scope, versionOf } from "../../src/trace/scope.js";
import { Trace } from "../../src/trace/trace.js";
import { formatTraceparent, parseTraceparent } from "../../src/trace/traceparent.js";
import { until } from "../../src/trace/until.js";
import { quieterTrace, traceOfNode } from "../../src/trace/view.js";
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
  const idOf = (title: string) => events.find((event) => event.kind === "step" && event.title === title)?.id;
  const causeOf = (text: string) => events.find((event) => event.kind === "note" && event.text === text)?.causedBy;
  assert.equal(causeOf("in a"), idOf("a"));
  assert.equal(causeOf("in b"), idOf("b"));
  assert.notEqual(idOf("a"), idOf("b"));
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
    trace.emit({ kind: "note", text: "answer" }, { actor: "apiserver", causedBy: "41" });
  });
  assert.equal(events[1]?.causedBy, "41");
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

test("what a queue takes out belongs to the cause of who put it in", () => {
  const { trace, events } = collect();
  const queue: (Scope | undefined)[] = [];
  trace.because({ causedBy: "uid@7", pod: "default/web" }, () => queue.push(currentScope()));
  trace.origin("timer", () => {
    trace.emit({ kind: "note", text: "tick" }, { actor: "kubelet" });
    runInScope(queue[0], () => trace.emit({ kind: "note", text: "sync" }, { actor: "kubelet" }));
  });
  assert.deepEqual(
    events.map(({ causedBy, origin, pod }) => [causedBy, origin, pod]),
    [
      [undefined, "timer", undefined],
      ["uid@7", undefined, "default/web"],
    ],
  );
});

test("an id that was announced is the fact's own, and ids of two traces differ", () => {
  const one = collect();
  const two = collect();
  const id = one.trace.newId();
  assert.match(id, /^[0-9a-f]{16}$/);
  one.trace.emit({ kind: "note", text: "inside" }, { actor: "apiserver", causedBy: id });
  one.trace.emit({ kind: "note", text: "request" }, { actor: "user", id });
  two.trace.emit({ kind: "note", text: "other" }, { actor: "user" });
  assert.equal(one.events[0]?.causedBy, one.events[1]?.id);
  assert.equal(new Set([...one.events, ...two.events].map((event) => event.id)).size, 3);
});

test("a fact of another process keeps its id, time and cause, and its secrets are masked", () => {
  const { trace, events } = collect();
  trace.secrets.learn("hunter2hunter2");
  trace.emit({ kind: "note", text: "first" }, { actor: "user" });
  const stamp = { seq: 1, id: "00000000000000ab", atMs: 5, actor: "runtime", level: 1, causedBy: "12" } as const;
  trace.relay({ ...stamp, kind: "note", text: "hunter2hunter2" });
  const { text: _text, ...rest } = events[1] as TraceEvent & { kind: "note" };
  assert.deepEqual(rest, { ...stamp, seq: 2, kind: "note" });
  assert(!JSON.stringify(events).includes("hunter2"));
});

test("a view shows its facts at other levels; ids, steps and sinks are those of the trace below", () => {
  const { trace, events } = collect();
  const quiet = quieterTrace(quieterTrace(trace, 2), 1);
  trace.step("user", "outer", {}, () => {
    quiet.emit({ kind: "note", text: "quiet" }, { actor: "kubelet" });
    quiet.emit({ kind: "error", message: "no" }, { actor: "kubelet" });
    quiet.emit({ kind: "note", text: "quieter" }, { actor: "kubelet", level: 3 });
  });
  assert.deepEqual(
    events.map(({ seq, level, causedBy }) => [seq, level, causedBy]),
    [
      [1, 1, undefined],
      [2, 2, events[0]?.id],
      [3, 0, events[0]?.id],
      [4, 3, events[0]?.id],
    ],
  );
});

test("a version names an object as a write and its watch event show it", () => {
  assert.equal(versionOf({ metadata: { uid: "u", resourceVersion: "7" } }), "u@7");
  for (const other of [undefined, null, {}, "x", { metadata: {} }, { metadata: { uid: "u" } }, { kind: "Status" }]) {
    assert.equal(versionOf(other), undefined);
  }
});

test("a traceparent carries an id; those of other programs and damaged ones carry none", () => {
  const own = formatTraceparent("00000001000000ff");
  assert.match(own, /^00-[0-9a-f]{32}-00000001000000ff-01$/);
  assert.equal(parseTraceparent(own), "00000001000000ff");
  assert.equal(parseTraceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), undefined);
  const damaged = [undefined, ["x"], "", "x", own.slice(1), `${own}x`, own.toUpperCase(), "0".repeat(100_000)];
  for (const header of damaged) assert.equal(parseTraceparent(header), undefined);
  assert.equal(parseTraceparent(formatTraceparent("0".repeat(16))), undefined);
});

test("a fact is searched for secrets only if a sink shows its level", () => {
  const { trace, events } = collect();
  const quiet = new Trace(new FakeClock());
  quiet.addSink({ level: 1, write: () => {} });
  let reads = 0;
  const fact = {
    kind: "note",
    get text() {
      reads++;
      return "abcdef.0123456789abcdef";
    },
  } as const;
  const readsOf = (which: Trace, level: 1 | 2) => {
    reads = 0;
    which.emit(fact, { actor: "user", level });
    return reads;
  };
  assert.ok(readsOf(quiet, 2) < readsOf(quiet, 1));
  trace.emit(fact, { actor: "user", level: 4 });
  assert.equal((events[0] as { text?: string }).text, "abcdef.****");
});

test("what is kept with an item of a queue is why the code runs, or what it names instead", () => {
  const { trace } = collect();
  const kept = trace.because({ causedBy: "1", pod: "default/web" }, () => [
    trace.keepScope(),
    trace.keepScope({ causedBy: "2" }),
  ]);
  assert.deepEqual(kept, [
    { scope: { causedBy: "1", pod: "default/web" } },
    { scope: { causedBy: "2", pod: "default/web" } },
  ]);
  const terminal = new Trace(new FakeClock());
  terminal.addSink({ level: 1, write: () => {} });
  assert.deepEqual(
    terminal.chapter("node", () => terminal.keepScope({ causedBy: "2" })),
    {},
  );
});

test("the facts of a node's kubelet and runtime name it, also those of another process", () => {
  const { trace, events } = collect();
  const view = traceOfNode(trace, "n1");
  view.step("kubelet", "step", {}, () => view.emit({ kind: "note", text: "admin" }, { actor: "user" }));
  const stamp = { seq: 1, id: "00000000000000ab", atMs: 5, actor: "runtime", level: 1 } as const;
  view.relay({ ...stamp, kind: "note", text: "relayed" });
  quieterTrace(view, 3).emit({ kind: "note", text: "quiet" }, { actor: "kubelet" });
  assert.deepEqual(
    events.map(({ instance }) => instance),
    ["n1", undefined, "n1", "n1"],
  );
  assert.equal(traceOfNode(view, "n1"), view);
});

test("until: a round at once and after each period; only the later ones begin chains", async () => {
  const { trace, clock } = collect();
  const origins: unknown[] = [];
  const stop = new AbortController();
  const round = async () => void origins.push(currentScope()?.origin);
  const done = trace.origin("start", () => until({ clock, trace }, 1_000, round, stop.signal));
  await clock.advance(2_500);
  assert.deepEqual(origins, ["start", "timer", "timer"]);
  stop.abort();
  await assert.rejects(done, { name: "AbortError" });
});
