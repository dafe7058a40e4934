import assert from "node:assert/strict";
import { test } from "vitest";
import { Pipe } from "../../../src/cluster/shell/process/pipe.js";
import { SIGHUP, SIGINT, SIGQUIT, SIGWINCH } from "../../../src/cluster/shell/process/signals.js";
import { COOKED, Terminal } from "../../../src/cluster/shell/process/terminal.js";
import { BrokenPipeError } from "../../../src/cluster/shell/streams.js";

const never = new AbortController().signal;

/** A terminal that records its signals and writes its output to a pipe. */
function makeTerminal() {
  const pipe = new Pipe();
  const signals: string[] = [];
  const output = {
    ...pipe.writer,
    discard: () => pipe.discard(),
    get isFull() {
      return pipe.isFull;
    },
  };
  const terminal = new Terminal(output, { signalGroup: (group, signal) => signals.push(`${signal} to ${group}`) });
  terminal.foreground = 7;
  const type = (text: string) => terminal.input(Buffer.from(text), never);
  const shown = async () => (pipe.size === 0 ? "" : String(await pipe.reader.read(never)));
  const read = async () => String(await terminal.source.read(never));
  return { terminal, pipe, signals, type, shown, read };
}

/** input; the line that can be read; the echo */
const LINES: readonly (readonly [string, string, string, string])[] = [
  ["a line ends with Enter", "ab\r", "ab\n", "ab\r\n"],
  ["a newline does as well", "ab\n", "ab\n", "ab\r\n"],
  ["DEL erases a character", "abx\x7fc\r", "abc\n", "abx\b \bc\r\n"],
  ["^H does as well", "abx\bc\r", "abc\n", "abx\b \bc\r\n"],
  ["there is nothing to erase at the beginning", "\x7f\x7fa\r", "a\n", "a\r\n"],
  ["a character of several bytes is erased at once", "aé\x7f\r", "a\n", "aé\b \b\r\n"],
  ["^U erases the line", "abc\x15d\r", "d\n", "abc\b \b\b \b\b \bd\r\n"],
  ["^W erases a word and the blanks after it", "one two  \x17x\r", "one x\n", `one two  ${"\b \b".repeat(5)}x\r\n`],
  ["a control character is shown with a caret, and takes two columns", "\x01\x7fa\r", "a\n", "^A\b \b\b \ba\r\n"],
  ["a tab is a tab", "\ta\r", "\ta\n", "\ta\r\n"],
  ["^D in a line hands on what is there", "ab\x04", "ab", "ab"],
];

for (const [rule, typed, line, echo] of LINES) {
  test(`terminal: ${rule}`, async () => {
    const { type, read, shown } = makeTerminal();
    await type(typed);
    assert.equal(await read(), line);
    assert.equal(await shown(), echo);
  });
}

test("terminal: one read gets one line, and ^D on an empty one is the end of input, once", async () => {
  const { terminal, type, read } = makeTerminal();
  await type("one\rtwo\r\x04three\r");
  assert.equal(await read(), "one\n");
  assert.equal(String(await terminal.source.read(never, 2)), "tw");
  assert.equal(await read(), "o\n");
  assert.equal(await terminal.source.read(never), undefined);
  assert.equal(await read(), "three\n");
});

test("terminal: input beyond the line limit is dropped until the line ends", async () => {
  const { type, read } = makeTerminal();
  await type("a".repeat(10_000));
  await type("\r");
  assert.equal((await read()).length, 4096);
});

for (const [key, signal, shownKey] of [
  ["\x03", SIGINT, "^C"],
  ["\x1c", SIGQUIT, "^\\"],
] as const) {
  test(`terminal: ${shownKey} signals the foreground, and drops unread input and output`, async () => {
    const { terminal, signals, type, read, shown } = makeTerminal();
    await terminal.sink.write(Buffer.from("much output"), never);
    await type(`line\rhalf${key}new\r`);
    assert.deepEqual(signals, [`${signal} to 7`]);
    assert.equal(await read(), "new\n");
    assert.equal(await shown(), `${shownKey}new\r\n`);
  });
}

test("terminal: a written newline starts a line", async () => {
  const { terminal, shown } = makeTerminal();
  await terminal.sink.write(Buffer.from("a\n\nb\r\n"), never);
  assert.equal(await shown(), "a\r\n\r\nb\r\r\n");
});

test("terminal: in raw mode every byte can be read at once, unchanged", async () => {
  const { terminal, signals, type, read, shown } = makeTerminal();
  terminal.modes = { isCanonical: false, echoes: false, hasSignals: false, mapsInput: false, mapsOutput: false };
  await type("a\x03\x7f\r");
  assert.equal(await read(), "a\x03\x7f\r");
  assert.deepEqual(signals, []);
  await terminal.sink.write(Buffer.from("a\n"), never);
  assert.equal(await shown(), "a\n");
});

test("terminal: new modes apply to input that was typed ahead", async () => {
  const { terminal, type, read, shown } = makeTerminal();
  await type("half");
  terminal.modes = { ...COOKED, isCanonical: false, echoes: false };
  assert.equal(await read(), "half");
  await type("one\rtwo");
  terminal.modes = COOKED;
  assert.equal(await read(), "one\n");
  await type("!\r");
  assert.equal(await read(), "two!\n");
  assert.equal(await shown(), "half!\r\n", "what was typed without an echo gets none later");
});

test("terminal: typing waits without a reader", async () => {
  const { type, terminal } = makeTerminal();
  const line = `${"a".repeat(99)}\r`;
  let isDone = false;
  const typing = type(line.repeat(1000)).then(() => {
    isDone = true;
  });
  await Promise.resolve();
  assert.equal(isDone, false);
  for (let count = 0; count < 1000; count++) await terminal.source.read(never);
  await typing;
});

test("terminal: the echo does not pile up without a reader", async () => {
  const { type, pipe } = makeTerminal();
  for (let count = 0; count < 1000; count++) await type(`${"a".repeat(999)}\x15`);
  assert.ok(pipe.size < 200_000, `${pipe.size} bytes wait`);
});

test("terminal: the foreground is notified of a new size, not of the same size or of none", () => {
  const { terminal, signals } = makeTerminal();
  terminal.resize({ width: 80, height: 24 });
  terminal.resize({ width: 80, height: 24 });
  terminal.resize({ width: 0, height: 24 });
  assert.deepEqual(signals, [`${SIGWINCH} to 7`]);
  assert.deepEqual(terminal.size, { width: 80, height: 24 });
});

test("terminal: after a hang-up input ends and output is dropped", async () => {
  const { terminal, pipe, signals, type } = makeTerminal();
  const reading = terminal.source.read(never);
  await terminal.sink.write(Buffer.from("last"), never);
  terminal.hangUp();
  terminal.hangUp();
  assert.equal(await reading, undefined);
  assert.deepEqual(signals, [`${SIGHUP} to 7`]);
  assert.throws(() => terminal.sink.write(Buffer.from("x"), never), BrokenPipeError);
  await type("x");
  assert.equal(String(await pipe.reader.read(never)), "last");
  assert.equal(await pipe.reader.read(never), undefined);
});
