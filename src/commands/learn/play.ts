import { hasPrograms } from "../../lab/labs/environment/programs.js";
import type { LabSummary } from "../../lab/labs/format/library.js";
import type { Progress } from "../../lab/labs/progress/progress.js";
import { resultOf } from "../../lab/labs/progress/result.js";
import type { LearnContext } from "./context.js";
import type { InteractiveOptions } from "./play/interactive.js";
import { choose, type OtherInput, quitKey } from "./play/prompt.js";
import { pointsInWords, resultLines } from "./play/result-text.js";
import { nextLab } from "./standing.js";
import { requireNotPlayed } from "./taken-lab.js";

/** Where the learner goes next: to the menu, out, or nowhere, because the last lab is not finished. */
export type Way = "menu" | "quit" | "left";

/**
 * Plays a lab at a terminal, then the next ones, until the learner leaves. Asks before a finished lab is played again.
 * @returns also the last lab
 */
export async function playLabs(
  env: LearnContext,
  first: LabSummary,
  options: InteractiveOptions,
): Promise<{ readonly way: Way; readonly last: LabSummary }> {
  // Loaded late: it brings the cluster's code, which the menu does not need.
  const { runLab } = await import("./play/interactive.js");
  using page = await (await import("./play/live.js")).openLabPage(env);
  const { seed: _ofFirst, exam: _once, ...others } = { ...options, page };
  for (let last = first; ; ) {
    await requireNotPlayed(env, last.id);
    if (options.exam === undefined && !(await isWanted(env, last, page))) return { way: "left", last };
    if (!(await runLab(env, last, last === first ? { ...options, page } : others))) return { way: "left", last };
    const result = await showResult(env, last, "stderr");
    page?.note(result);
    await (await import("./paths.js")).showFinishedPaths(env, last);
    // The next lab may not work on the learner's own cluster.
    const next = options.real === undefined ? await playableNext(env, last) : undefined;
    const way = await askWhere(env, next, page);
    if (way !== "next" || next === undefined) return { way: way === "next" ? "quit" : way, last };
    last = next;
  }
}

/** Prints the result of the run that is over. @returns its lines */
export async function showResult(
  env: LearnContext,
  lab: LabSummary,
  stream: "stdout" | "stderr",
): Promise<readonly string[]> {
  const run = await env.store.of(lab);
  if (run?.finishedAtMs === undefined) return [];
  const { allTasks } = await import("../../lab/build/library.js");
  const tasks = (await allTasks()).filter(({ labs }) => labs.includes(lab.id));
  const build = tasks.map(({ id }) => env.say("resultBuild", { command: `kubelab build start ${id}` }));
  const lines = [...resultLines(lab, resultOf(lab, run), run.best, env.say), ...build];
  if (lines.length > 0) env.context.streams[stream].write(`\n${lines.join("\n")}\n`);
  return lines;
}

/** The lab to play next whose programs are installed. @param last the lab that was finished just now */
export async function playableNext(env: LearnContext, last?: LabSummary): Promise<LabSummary | undefined> {
  return playableIn(env, await env.store.load(), last);
}

/** As `playableNext`, for loaded progress. */
export function playableIn(
  { library, context }: LearnContext,
  progress: Progress,
  last?: LabSummary,
): LabSummary | undefined {
  return nextLab(library.summaries, progress, last, (lab) => hasPrograms(lab, context));
}

/** Asks whether to play a finished lab again. */
async function isWanted(env: LearnContext, lab: LabSummary, page: OtherInput | undefined): Promise<boolean> {
  const { say } = env;
  const run = await env.store.of(lab);
  if (run?.finishedAtMs === undefined) return true;
  const points = pointsInWords(lab, run.best ?? resultOf(lab, run), say);
  const choices = [
    { value: "again", name: say("playAgain") },
    { value: "", name: say("playNot") },
  ];
  return (await choose(env, { lines: [say("askAgain", { points })], choices, page })) === "again";
}

/** Waits for the learner also because the menu would replace the last messages. */
async function askWhere(
  env: LearnContext,
  next: LabSummary | undefined,
  page: OtherInput | undefined,
): Promise<"next" | "menu" | "quit"> {
  const { say, language } = env;
  env.context.streams.stderr.write("\n");
  const words = next && say("goNext", { number: next.number, title: next.title[language], minutes: next.minutes });
  const keys = [
    ...(words === undefined ? [] : [{ key: "n", value: "next", name: say("keyNext") }]),
    { key: "l", value: "menu", name: say("keyList") },
    quitKey(env, "quit"),
  ];
  const way = await choose(env, { lines: words === undefined ? [] : [words], keys, page });
  return way === "next" || way === "menu" ? way : "quit";
}
