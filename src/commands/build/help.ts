import { openTask } from "../../lab/build/library.js";
import { forget, noteShown, progressOf, takeHint } from "../../lab/build/progress.js";
import { upstreamLines } from "../../lab/build/upstream-links.js";
import { LabError } from "../../util/errors.js";
import { wrap } from "../../util/text/text-width.js";
import type { CliContext } from "../cli/context.js";
import { sourceResult } from "../explain/chapters.js";
import { readSources } from "../explain/source.js";
import type { BuildFlags } from "./flags.js";
import { findWork, openBuild } from "./open.js";
import { COMMAND_WORDS } from "./words.js";

/** `kubelab build hint`: the next hint for the first stage that does not pass. @throws LabError BAD_FILE, USAGE */
export async function printHint(context: CliContext, word: string | undefined, flags: BuildFlags): Promise<void> {
  const { language, columns, store } = openBuild(context, flags);
  const words = COMMAND_WORDS[language];
  const { task } = await findWork(context, word);
  const [progress] = await progressOf(store, [task]);
  const stage = task.stages.find(({ id }) => progress?.done.includes(id) !== true);
  if (stage === undefined) return context.print({ text: words.noHint(task.id), json: null });
  const { hints } = stage;
  const taken = await takeHint(store, task, stage.id, hints.length);
  const text = hints[taken - 1]?.[language] ?? "";
  const lines = [
    words.hint(taken, hints.length, stage.title[language]),
    ...wrap(text, columns - 2).map((one) => `  ${one}`),
  ];
  if (taken === hints.length) lines.push(words.lastHint);
  context.print({
    text: lines.join("\n"),
    json: { task: task.id, stage: stage.id, hint: taken, hints: hints.length, text },
  });
}

/** `kubelab build show TASK`: kubelab's own module, and upstream's address. @throws LabError USAGE */
export async function showOwn(context: CliContext, word: string, flags: BuildFlags): Promise<void> {
  const { language, store } = openBuild(context, flags);
  const words = COMMAND_WORDS[language];
  const task = await openTask(word);
  const [progress] = await progressOf(store, [task]);
  const count = progress?.open.length ?? 0;
  const question = words.showCosts(task.id, count);
  const agreed = { ...(flags.yes === undefined ? {} : { yes: flags.yes }), flag: "--yes" };
  if (count > 0 && !(await context.confirm(question, agreed))) {
    throw new LabError("DECLINED", "nothing was shown", "A hint costs less: kubelab build hint");
  }
  const sources = await readSources();
  const parts = task.own.map((name) => sourceResult(sources, name));
  await noteShown(store, task);
  const upstream = [words.upstream, ...upstreamLines(task)].map((line) => `// ${line}`);
  context.print({
    text: [...parts.map(({ text }) => text), upstream.join("\n")].join("\n\n"),
    json: { task: task.id, own: parts.map(({ json }) => json), upstream: task.upstream },
  });
}

/** `kubelab build reset TASK`. @throws LabError USAGE */
export async function resetTask(context: CliContext, word: string, flags: BuildFlags): Promise<void> {
  const { language, store } = openBuild(context, flags);
  const task = await openTask(word);
  await forget(store, task);
  context.print({ text: COMMAND_WORDS[language].forgotten(task.id), json: { task: task.id } });
}
