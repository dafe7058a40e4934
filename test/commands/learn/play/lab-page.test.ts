import assert from "node:assert/strict";
import { test } from "vitest";
import type { LearnContext } from "../../../../src/commands/learn/context.js";
import { LabPage } from "../../../../src/commands/learn/play/lab-page.js";
import type { Question } from "../../../../src/commands/learn/play/prompt.js";
import { ACTIONS } from "../../../../src/commands/learn/play/step-keys.js";
import { LabSession } from "../../../../src/lab/labs/session/session.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";
import { MemoryPlace } from "../../../support/memory-place.js";
import { TINY_YAML, tinyLab } from "../../../support/tiny-lab.js";

const never = new AbortController().signal;
const say = sayIn("en");
const page = () => new LabPage({ say, language: "en" } as LearnContext);
const kinds = (of: LabPage) => of.lab().parts.map(({ kind }) => kind);

/** A step's question with every key that a step can have. */
const QUESTION: Question = {
  lines: ["", "what do you expect?"],
  choices: [
    { value: "stays", name: "it stays" },
    { value: "goes", name: "it goes" },
  ],
  keys: Object.entries(ACTIONS).map(([name, value], i) => ({ key: String.fromCharCode(97 + i), value, name })),
};

test("a page answers with the choices and some keys of the open question, and with nothing else", async () => {
  const lab = page();
  assert.deepEqual(lab.keys(), []);
  await lab.press("1");
  const answer = lab.ask(QUESTION, never);
  assert.deepEqual(
    lab.keys().map(({ short }) => short),
    ["it stays", "it goes", "go", "check", "hint", "solve", "why", "faster", "slower"],
  );
  const keyOf = (action: keyof typeof ACTIONS) => QUESTION.keys?.find(({ name }) => name === action)?.key ?? "";
  for (const key of ["3", "kubectl delete nodes --all", ".shell", keyOf("shell"), keyOf("leave"), keyOf("page")])
    await lab.press(key);
  assert.equal(lab.keys().length, 9);
  await lab.press("2");
  assert.equal(await answer, "goes");
  assert.deepEqual(lab.keys(), []);
});

test("a hint has its price on its key, and the question its lines and Markdown", () => {
  const lab = page();
  lab.tell({ kind: "question", choices: [{ key: "stays", text: "it `stays`" }], isIncident: false });
  void lab.ask(QUESTION, never);
  assert.match(lab.keys().find(({ short }) => short === "hint")?.label ?? "", /costs \d+ points/);
  const { asks, choices } = lab.lab();
  assert.deepEqual(asks, ["what do you expect?"]);
  assert.deepEqual(choices, [
    { key: "1", text: "it `stays`" },
    { key: "2", text: "it goes" },
  ]);
});

test("a question that the terminal has answered is gone, and a wait takes Esc only while it lasts", async () => {
  const lab = page();
  const over = new AbortController();
  const asked = assert.rejects(lab.ask(QUESTION, over.signal));
  over.abort();
  await asked;
  assert.deepEqual(lab.keys(), []);
  const pressed: string[] = [];
  {
    using _wait = lab.during(async (key) => void pressed.push(key));
    assert.deepEqual(lab.keys(), []);
    lab.tell({ kind: "waiting", want: "a node", seen: "none", leftMs: 9000, mayStop: true });
    await lab.press("Escape");
    await lab.press("+");
    await lab.press("n");
  }
  await lab.press("Escape");
  assert.deepEqual(pressed, ["\u001b", "+"]);
  assert.match(lab.lab().waiting, /9 s left, waiting for: a node; now: none/);
});

test("a wait on a clock that can be held has a button that jumps there, another has none", async () => {
  for (const canJump of [true, false]) {
    const lab = page();
    const pressed: string[] = [];
    using _wait = lab.during(async (key) => void pressed.push(key), canJump);
    lab.tell({ kind: "waiting", want: "a node", seen: "none", leftMs: 9000, mayStop: true });
    assert.equal(
      lab.keys().some(({ short }) => short === say("keyJump")),
      canJump,
    );
    await lab.press("j");
    assert.deepEqual(pressed, canJump ? ["j"] : []);
  }
});

test("a page shows a session's steps, and what each has shown; a step that is shown again stays as it is", async () => {
  const lab = page();
  const session = new LabSession(await tinyLab(TINY_YAML), new MemoryPlace(), {
    ...{ language: "en", seed: 1 },
    emit: (message) => lab.tell(message),
  });
  lab.follow(session);
  lab.tell({ kind: "lab", id: "tiny", number: "7", title: "Tiny", summary: "short", minutes: 5, speed: 1 });
  lab.tell({ kind: "text", markdown: "What it is about." });
  session.present();
  assert.deepEqual(kinds(lab), ["text", "note", "text", "heading", "text"]);
  assert.deepEqual(
    lab.lab().steps.map(({ state }) => state),
    ["now", "open", "open", "open", "open"],
  );
  assert.match(lab.lab().pictureless, /^Nothing has run yet: /);
  await session.perform(undefined, never);
  session.present();
  assert.deepEqual(kinds(lab).slice(0, 3), ["heading", "text", "command"]);
  lab.tell({ kind: "output", stream: "stdout", text: "\u001b[31mred\u001b[0m\n" });
  lab.tell({ kind: "output", stream: "stdout", text: `${"x".repeat(30_000)}\n` });
  lab.tell({ kind: "verdict", ok: false, seen: "nothing", want: "a node" });
  const before = lab.lab().parts;
  session.present();
  assert.deepEqual(lab.lab().parts, before);
  const [output, verdict] = before.slice(-2);
  assert.equal(output?.text.length, 20_000);
  assert.deepEqual(verdict?.kind, "bad");
  assert.equal(lab.lab().steps[0]?.state, "done");
});
