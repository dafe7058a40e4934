import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "vitest";
import { ProgressLine, type ProgressOptions } from "../../../src/commands/cli/progress.js";
import type { ProcessStreams } from "../../../src/testbed/context.js";
import { untilTrue } from "../../support/fake-clock.js";

/** A terminal that records what is written to it. */
class FakeTerminal extends EventEmitter {
  readonly isTTY = true;
  columns = 80;
  written = "";
  write(text: string): boolean {
    this.written += text;
    return true;
  }
  cursorTo(): void {}
  clearLine(): void {}
  moveCursor(): void {}
  take(): string {
    const text = this.written;
    this.written = "";
    return text;
  }
}

function open(options: Partial<ProgressOptions> = {}) {
  const terminal = new FakeTerminal();
  const stream = terminal as unknown as ProcessStreams["stderr"];
  return { terminal, line: new ProgressLine(stream, { enabled: true, unicode: true, ...options }) };
}

test("a narrower terminal: the rows of the wrapped line are erased, and the line fits again", async () => {
  const { terminal, line } = open();
  using _progress = line.start((columns) => "k".repeat(Math.min(columns, 70)));
  await untilTrue(() => terminal.written.includes("k".repeat(70)));
  terminal.take();
  terminal.columns = 30;
  terminal.emit("resize");
  const redrawn = terminal.take();
  // 72 columns take three rows of 30.
  assert.ok(redrawn.includes("\u001b[2K\u001b[A\u001b[2K\u001b[A\u001b[2K\r"), JSON.stringify(redrawn));
  assert.match(redrawn, /[^k]k{27}(?!k)/);
  line.clear();
});

test("several lines: a narrower terminal erases the rows of each", async () => {
  const { terminal, line } = open();
  using _progress = line.start(
    (columns) => `${"a".repeat(Math.min(columns, 38))}\n${"b".repeat(Math.min(columns, 41))}`,
  );
  await untilTrue(() => terminal.written.includes("b".repeat(41)));
  terminal.take();
  terminal.columns = 20;
  terminal.emit("resize");
  // 40 columns take two rows of 20, 41 take three.
  const redrawn = terminal.take();
  assert.equal(redrawn.split("\u001b[A").length - 1, 4, JSON.stringify(redrawn));
  line.clear();
});

test("a text that is too wide is cut", async () => {
  const { terminal, line } = open({ unicode: false });
  terminal.columns = 20;
  using _progress = line.start("waiting for something that takes long");
  await untilTrue(() => terminal.written.includes("waiting for so..."));
  line.clear();
});

test("the newest line is shown; when it ends, the one before it is", async () => {
  const { terminal, line } = open();
  using _first = line.start("first");
  await untilTrue(() => terminal.written.includes("first"));
  {
    using _second = line.start("second");
    line.write("");
    assert.match(terminal.take(), /second/);
  }
  line.write("");
  assert.match(terminal.take(), /first/);
  line.clear();
  await line.show();
  assert.match(terminal.take(), /first/);
  line.clear();
});

test("a line that is not enabled shows nothing", async () => {
  const { terminal, line } = open({ enabled: false });
  using _progress = line.start("waiting");
  await line.show();
  assert.equal(terminal.written, "");
});

test("what repeats stands behind the last line if there is room", async () => {
  const { terminal, line } = open();
  terminal.columns = 30;
  using progress = line.start(() => "first\nlast");
  line.showAside("again 3 times");
  await untilTrue(() => terminal.written.includes("first\nlast · again 3 times"));
  progress.update(() => `first\n${"last ".repeat(4)}`);
  terminal.take();
  terminal.emit("resize");
  assert.doesNotMatch(terminal.take(), /again/);
  line.clear();
});
