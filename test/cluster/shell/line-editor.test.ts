import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { History } from "../../../src/cluster/shell/language/interactive/history.js";
import { LineEditor } from "../../../src/cluster/shell/language/interactive/line-editor.js";
import { Terminal } from "../../../src/cluster/shell/process/terminal.js";
import { FakeScreen } from "./fake-screen.js";

const never = new AbortController().signal;

/** A model of line editing: characters and a cursor. */
interface Model {
  text: string;
  at: number;
}

const isWord = (char: string | undefined) => char !== undefined && /\w/.test(char);

function wordLeft({ text, at }: Model, matches: (char: string | undefined) => boolean): number {
  let to = at;
  while (to > 0 && !matches(text[to - 1])) to--;
  while (to > 0 && matches(text[to - 1])) to--;
  return to;
}

function go(model: Model, at: number): void {
  model.at = at;
}

function cut(model: Model, from: number, to: number): void {
  model.text = model.text.slice(0, from) + model.text.slice(to);
  model.at = from;
}

/** a key's bytes; its effect on the line */
const KEYS: Readonly<Record<string, readonly [string, (model: Model) => void]>> = {
  left: ["\x1b[D", (model) => go(model, Math.max(0, model.at - 1))],
  right: ["\x1b[C", (model) => go(model, Math.min(model.text.length, model.at + 1))],
  home: ["\x1b[H", (model) => go(model, 0)],
  end: ["\x1bOF", (model) => go(model, model.text.length)],
  backspace: ["\x7f", (model) => model.at > 0 && cut(model, model.at - 1, model.at)],
  delete: ["\x1b[3~", (model) => cut(model, model.at, model.at + 1)],
  killBefore: ["\x15", (model) => cut(model, 0, model.at)],
  killAfter: ["\x0b", (model) => cut(model, model.at, model.text.length)],
  killWord: [
    "\x17",
    (model) =>
      cut(
        model,
        wordLeft(model, (char) => char !== " "),
        model.at,
      ),
  ],
  wordLeft: ["\x1b[1;5D", (model) => go(model, wordLeft(model, isWord))],
  wordRight: [
    "\x1bf",
    (model) => {
      while (model.at < model.text.length && !isWord(model.text[model.at])) model.at++;
      while (isWord(model.text[model.at])) model.at++;
    },
  ],
  clear: ["\x0c", () => {}],
  unknown: ["\x1b[24~", () => {}],
};

const key = fc.oneof(
  { weight: 3, arbitrary: fc.stringMatching(/^[a-z0-9 .-]{1,12}$/).map((text) => ({ kind: "text" as const, text })) },
  { weight: 2, arbitrary: fc.constantFrom(...Object.keys(KEYS)).map((name) => ({ kind: "key" as const, name })) },
);

test("line editor: the screen shows the line and the cursor on a terminal of any width", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(key, { maxLength: 40 }), fc.integer({ min: 5, max: 30 }), async (keys, width) => {
      const screen = new FakeScreen(width);
      const output = {
        write: (bytes: Uint8Array) => screen.write(Buffer.from(bytes).toString()),
        retain() {},
        release() {},
      };
      const terminal = new Terminal(output, { signalGroup: () => {} });
      terminal.resize({ width, height: 100 });
      const editor = new LineEditor({
        terminal,
        history: new History(),
        complete: () => ({ insert: "", choices: [] }),
      });
      const prompt = "/ # ";
      const reading = editor.readLine(prompt, never);
      const model: Model = { text: "", at: 0 };
      const check = async () => {
        await new Promise((resolve) => setImmediate(resolve));
        assert.equal(screen.text.trimEnd(), (prompt + model.text).trimEnd());
        assert.equal(screen.place, prompt.length + model.at);
      };
      await check();
      for (const one of keys) {
        if (one.kind === "text") {
          model.text = model.text.slice(0, model.at) + one.text + model.text.slice(model.at);
          model.at += one.text.length;
          await terminal.input(Buffer.from(one.text), never);
        } else {
          const [bytes, apply] = KEYS[one.name] as (typeof KEYS)[string];
          apply(model);
          await terminal.input(Buffer.from(bytes), never);
        }
        await check();
      }
      await terminal.input(Buffer.from("\r"), never);
      assert.deepEqual(await reading, { kind: "line", text: model.text });
    }),
    { numRuns: 200 },
  );
});

test("terminal: the echo of a line equals the line that is read", async () => {
  const typed = fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.stringMatching(/^[a-z_ .é]{1,6}$/) },
      { weight: 3, arbitrary: fc.constantFrom("\x7f", "\b", "\x17", "\x15") },
    ),
    { maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(typed, async (pieces) => {
      const screen = new FakeScreen(1000);
      const output = {
        write: (bytes: Uint8Array) => screen.write(Buffer.from(bytes).toString()),
        retain() {},
        release() {},
      };
      const terminal = new Terminal(output, { signalGroup: () => {} });
      for (const piece of pieces) await terminal.input(Buffer.from(piece), never);
      const shown = screen.text;
      await terminal.input(Buffer.from("\r"), never);
      const line = String(await terminal.source.read(never)).replace("\n", "");
      assert.equal(shown.trimEnd(), line.trimEnd());
    }),
    { numRuns: 300 },
  );
});
