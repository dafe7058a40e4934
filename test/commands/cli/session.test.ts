import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "vitest";
import { CliSession } from "../../../src/commands/cli/session.js";
import type { ProgramEdge } from "../../../src/testbed/context.js";
import type { TraceEvent } from "../../../src/trace/events.js";
import { FakeClock, FakeRandom } from "../../support/fake-clock.js";

const SENTENCE = "node n1 has joined and is Ready";

function open(streams: ProgramEdge["streams"], more: Partial<ProgramEdge> = {}): CliSession {
  const { signal } = new AbortController();
  const edge = { env: {}, cwd: "/", random: new FakeRandom(), self: [], signal, streams, ...more };
  return new CliSession(edge, { commandNames: [], run: async () => 0 });
}

function printed(
  result: { readonly isProse: boolean; readonly text?: string },
  { isTTY, json = false }: { isTTY: boolean; json?: boolean },
) {
  const stdout = Object.assign(new PassThrough(), { isTTY, columns: 20 });
  const streams = { stdin: new PassThrough(), stdout, stderr: new PassThrough() };
  const session = open(streams);
  session.useOutput({ verbosity: 1, color: true, json });
  session.print({ text: SENTENCE, json: SENTENCE, ...result });
  // The result is bold.
  return stdout.read().toString().replaceAll("\u001b[1m", "").replaceAll("\u001b[22m", "");
}

test("sentences are wrapped for a terminal only; commands and JSON never are", () => {
  const whole = `${SENTENCE}\n`;
  assert.equal(printed({ isProse: true }, { isTTY: true }), "node n1 has joined\nand is Ready\n");
  assert.equal(printed({ isProse: true }, { isTTY: false }), whole);
  assert.equal(printed({ isProse: false }, { isTTY: true }), whole);
  assert.equal(printed({ isProse: true }, { isTTY: true, json: true }), `${JSON.stringify(SENTENCE)}\n`);
});

test("escape codes of servers and runtimes do not reach a terminal; a pipe gets the text unchanged", () => {
  const text = "containerd\x1b]0;title\x07\x1b[2J";
  assert.equal(printed({ isProse: false, text }, { isTTY: true }), "containerd\\x1b]0;title\\x07\\x1b[2J\n");
  assert.equal(printed({ isProse: false, text }, { isTTY: false }), `${text}\n`);
});

test("the trace is loaded before an action; a help does without it", async () => {
  const session = open({ stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() });
  assert.throws(() => session.session({}), assert.AssertionError);
  await session.load();
  const first = session.session({});
  assert.equal(session.session({ speed: 2 }), first);
});

test.each([
  [1_000, 10_000],
  [60_000, 60_000],
])(
  "with --duration of %d ms, a command that has not started after %d ms ends with an error",
  async (durationMs, limitMs) => {
    const clock = new FakeClock();
    const session = open({ stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() });
    session.limitStart(durationMs, clock);
    await clock.advance(limitMs - 1);
    assert.equal(session.signal.aborted, false);
    await clock.advance(1);
    assert.equal(session.signal.aborted, true);
    assert.equal(session.startFailure?.code, "TIMED_OUT");
  },
);

test("a command that has started has no such limit, and leaves no timer", async () => {
  const clock = new FakeClock();
  const session = open({ stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() });
  session.limitStart(1_000, clock);
  session.hasStarted();
  assert.equal(clock.sleeping, 0);
  assert.equal(session.startFailure, undefined);
});

test.each([40, 60, 80, 120])(
  "at %d columns, a caller gets the facts of the trace instead of stderr, and the lines of a result unbroken",
  async (columns) => {
    const told: string[] = [];
    const stderr = Object.assign(new PassThrough(), { columns });
    const onLines: ProgramEdge["onLines"] = ({ english }) => void told.push(...english);
    const showFact: ProgramEdge["showFact"] = (event) =>
      void told.push(event.kind === "note" ? event.text : event.kind);
    const session = open({ stdin: new PassThrough(), stdout: new PassThrough(), stderr }, { onLines, showFact });
    session.useOutput({ verbosity: 1, color: false });
    await session.load();
    const { trace } = session.session({});
    const text = `${"/a-long-path".repeat(12)} has many folders`;
    trace.emit({ kind: "note", text }, { actor: "user", level: 1 });
    trace.emit({ kind: "note", text: "not shown" }, { actor: "user", level: 2 });
    session.print({ text: SENTENCE, json: SENTENCE, lines: { english: [SENTENCE], shown: [SENTENCE] } });
    assert.deepEqual(told, [text, SENTENCE]);
    assert.equal(stderr.read(), null);
  },
);

test.each([undefined, 5, 30])("a command of a lab reports by the lab's clock, also with --speed %s", async (speed) => {
  const clusterClock = new FakeClock();
  const facts: TraceEvent[] = [];
  const session = open(
    { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
    { clusterClock, sink: { write: (event) => void facts.push(event) } },
  );
  await session.load();
  const { trace } = session.session(speed === undefined ? {} : { speed });
  trace.emit({ kind: "note", text: "begin" }, { actor: "user" });
  await clusterClock.advance(60_000);
  trace.emit({ kind: "note", text: "end" }, { actor: "user" });
  const [begin, end] = facts.map(({ atMs }) => Math.round((atMs - clusterClock.now()) / 60_000) + 0);
  assert.deepEqual([begin, end], [-1, 0]);
});
