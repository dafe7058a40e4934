import assert from "node:assert/strict";
import { test } from "vitest";
import type { CliContext } from "../../../src/commands/cli/context.js";
import { openLearn } from "../../../src/commands/learn/context.js";
import { nameTaken } from "../../../src/commands/learn/taken-lab.js";
import type { RunningLab } from "../../../src/lab/labs/session/running.js";
import type { Language } from "../../../src/util/i18n/language.js";

/** What is written to stderr by the notices of `kubelab learn` for a learner whose own language is English. */
async function learnerAt(stderr: { readonly isTTY: boolean; readonly columns?: number }, lang?: Language) {
  const notices: string[] = [];
  const context = { env: { LANG: "C.UTF-8" }, streams: { stderr }, notice: (line: string) => notices.push(line) };
  const env = await openLearn(context as unknown as CliContext, {
    color: false,
    ...(lang === undefined ? {} : { lang }),
  });
  return { env, notices };
}

const SENTENCE = "It is kubelab here, without npx: exit leaves it.";
test.each([
  ["a terminal", { isTTY: true, columns: 24 }, "It is kubelab here,\nwithout npx: exit leaves\nit."],
  ["a terminal without a size", { isTTY: true, columns: 0 }, SENTENCE],
  ["a pipe", { isTTY: false }, SENTENCE],
] as const)("a notice for %s", async (_name, stderr, shown) => {
  const { env, notices } = await learnerAt(stderr);
  env.notice(SENTENCE);
  assert.deepEqual(notices, [shown]);
});

const running = (lab: string, language: Language) => ({ lab, language }) as RunningLab;
test.each([
  ["the lab's language", undefined, "实验 a；"],
  ["the language of --lang", "en", "lab a; also running: b"],
] as const)("which of several labs is taken is said in %s", async (_name, lang, begin) => {
  const { env, notices } = await learnerAt({ isTTY: false }, lang);
  const taken = running("a", "zh");
  nameTaken(env, [taken, running("b", "en")], taken, "shell");
  assert.ok(notices[0]?.startsWith(begin), notices[0]);
});
