import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { Chalk } from "chalk";
import stringWidth from "string-width";
import { describe, test } from "vitest";
import { type KeyView, keyLines, keyPrompt } from "../../../../src/commands/learn/play/key-prompt.js";
import { type KeyState, stepKeys } from "../../../../src/commands/learn/play/step-keys.js";
import type { Step } from "../../../../src/lab/labs/format/schema.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";
import { LANGUAGES } from "../../../../src/util/i18n/language.js";

const say = sayIn("en");
const chalk = new Chalk({ level: 0 });
const screenOf = (columns: number) => ({ chalk, unicode: true, columns });
const CHECK = { id: "back", check: { object: "/api/v1/nodes/n1" }, solve: [] } as unknown as Step;
const STATE: KeyState = {
  step: CHECK,
  isPresented: true,
  isLookedAt: true,
  isNoticed: false,
  isSolvable: true,
  hasHint: true,
  hasTrace: false,
  hasMore: true,
};
const DO = { id: "join", do: "kubelab join", where: "here" } as unknown as Step;
const ELSEWHERE = { id: "join", do: "kubelab join", where: "elsewhere" } as unknown as Step;
const PREDICT = { id: "guess", predict: ["a", "b"] } as unknown as Step;
const READ = { id: "look", read: true } as unknown as Step;
const off = { isLookedAt: false, isSolvable: false, hasHint: false };

const KEYS: readonly (readonly [what: string, state: Partial<KeyState>, keys: string])[] = [
  ["a task", {}, "c h d t p s + - l q"],
  ["a task without more hints", { hasHint: false }, "c d t p s + - l q"],
  ["a text", { step: READ, ...off }, "n p s + - l q"],
  ["a command", { step: DO, ...off }, "n p s + - l q"],
  ["a command that may be run in a shell", { step: DO, ...off, isNoticed: true }, "n c p s + - l q"],
  ["a command for a shell", { step: ELSEWHERE, ...off, isLookedAt: true, isSolvable: true }, "c r p s + - l q"],
  ["a question", { step: PREDICT, ...off }, "p s + - l q"],
  ["after a command that has printed a trace", { step: READ, ...off, hasTrace: true }, "n t p s + - l q"],
  ["after a verdict", { isPresented: false }, "n w t p s + - l q"],
  ["after a verdict whose facts were all shown", { isPresented: false, hasMore: false }, "n t p s + - l q"],
];

describe("the keys that work now", () => {
  for (const [what, state, keys] of KEYS) {
    test(what, () => {
      const found = stepKeys({ ...STATE, ...state }, { say, isExam: false, canSetSpeed: true });
      assert.equal(found.map(({ key }) => key).join(" "), keys);
    });
  }

  test("an exam has no help, and no small letter ends it; a real cluster has no speed", () => {
    const found = stepKeys(STATE, { say, isExam: true, canSetSpeed: false });
    assert.equal(found.map(({ key }) => key).join(" "), "c p s l X");
  });

  test("one line at 80 columns, in each language; none is broken inside a word at 60", () => {
    for (const language of LANGUAGES) {
      for (const [, state] of KEYS) {
        const keys = stepKeys({ ...STATE, ...state }, { say: sayIn(language), isExam: false, canSetSpeed: true });
        const view: KeyView = { lines: [], choices: [], keys, choosing: "" };
        assert.equal(
          keyLines(view, 0, screenOf(80)).length,
          2,
          `${language}: ${keyLines(view, 0, screenOf(80)).join("\n")}`,
        );
        const narrow = keyLines(view, 0, screenOf(60));
        for (const line of narrow) assert.ok(stringWidth(line) < 60, line);
        const shown = narrow.join("  ");
        for (const { name } of keys) assert.ok(shown.includes(name), name);
      }
    }
  });
});

/** A prompt on a terminal that is not there. @returns what it resolves with after the keys */
async function press(view: KeyView, keys: string): Promise<string> {
  const input = Object.assign(new PassThrough(), { setRawMode: () => {} });
  const output = Object.assign(new PassThrough(), { columns: 80, rows: 24 });
  output.resume();
  const config = { ...view, screen: () => screenOf(80), stream: output };
  const answer = keyPrompt(config, { input: input as unknown as NodeJS.ReadableStream, output });
  input.write(keys);
  return answer;
}

const VIEW: KeyView = {
  lines: ["What happens?"],
  choices: [
    { value: "stays", name: "it stays" },
    { value: "goes", name: "it goes" },
  ],
  keys: [
    { key: "p", value: ".page", name: "picture" },
    { key: "q", value: ".leave", name: "quit" },
  ],
  choosing: "choose",
};

describe("a prompt", () => {
  test("shows question, numbered choices, a rule and the keys", () => {
    assert.deepEqual(keyLines(VIEW, 1, screenOf(24)), [
      "What happens?",
      "  1 it stays",
      "❯ 2 it goes",
      "───────────────────────",
      "1-2 choose  p picture",
      "q quit",
    ]);
  });

  const ANSWERS: readonly (readonly [keys: string, value: string])[] = [
    ["2", "goes"],
    ["\r", "stays"],
    ["\u001b[B\r", "goes"],
    ["\u001b[B\u001b[B\u001b[A\r", "stays"],
    ["9xp", ".page"],
    ["q", ".leave"],
    ["px", ".page"],
  ];
  for (const [keys, value] of ANSWERS) {
    test(`${JSON.stringify(keys)}: ${value}`, async () => {
      assert.equal(await press(VIEW, keys), value);
    });
  }

  test("Enter is the first key where nothing is to be chosen", async () => {
    assert.equal(await press({ ...VIEW, choices: [] }, "\r"), ".page");
  });
});
