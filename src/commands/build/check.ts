import { GOLDEN_STAGE, judge, type Verdict } from "../../lab/build/judge.js";
import { allTasks } from "../../lab/build/library.js";
import { notePassed, progressOf } from "../../lab/build/progress.js";
import { wrongText } from "../../lab/build/verdict-text.js";
import { WORDS } from "../../lab/build/words.js";
import { printable } from "../../trace/terminal/text.js";
import { wrap } from "../../util/text/text-width.js";
import type { CliContext } from "../cli/context.js";
import type { BuildFlags } from "./flags.js";
import type { LiveVerdict, LiveVerdicts } from "./live.js";
import { type BuildContext, findWork, noted, openBuild, type Work } from "./open.js";
import { COMMAND_WORDS } from "./words.js";

/** `kubelab build check [FILE]`: the exit code is 1 if something is wrong. @throws LabError BAD_FILE, USAGE */
export async function checkFile(context: CliContext, word: string | undefined, flags: BuildFlags): Promise<void> {
  const build = openBuild(context, flags);
  const work = await findWork(context, word);
  using live = new LiveOnDemand(build, work);
  if (!(await judgeAndPrint(build, work, flags, { signal: context.signal, live }))) context.exitWith(1);
}

/** The runs of nodes, which are loaded with the first one. */
export class LiveOnDemand implements Disposable {
  #opened: Promise<LiveVerdicts> | undefined;

  /** @param goesOn more verdicts follow */
  constructor(
    readonly build: BuildContext,
    readonly work: Work,
    readonly goesOn = false,
  ) {}

  async verdict(signal: AbortSignal): Promise<LiveVerdict> {
    const { build, work } = this;
    this.#opened ??= import("./live.js").then(({ LiveVerdicts }) => new LiveVerdicts(build, work));
    using _line = build.context.progress(COMMAND_WORDS[build.language].liveRuns);
    return await (await this.#opened).verdict(signal, !this.goesOn);
  }

  [Symbol.dispose](): void {
    void this.#opened?.then((one) => one[Symbol.dispose]());
  }
}

/** How one verdict is given. */
interface Judging {
  readonly signal: AbortSignal;
  readonly live: LiveOnDemand;
  /** the lines above it */
  readonly heading?: () => readonly string[];
}

/**
 * Runs the tests, then the node if all pass, and prints the verdict.
 * @returns whether nothing is wrong
 */
export async function judgeAndPrint(
  build: BuildContext,
  work: Work,
  flags: BuildFlags,
  { signal, live: runs, heading = () => [] }: Judging,
): Promise<boolean> {
  const { context, language } = build;
  const { verdict, isNoted } = await judged(build, work, signal);
  const print = (lines: readonly string[], json: unknown) => {
    const text = lines.flatMap((line) => indentedWrap(printable(line), build.columns)).join("\n");
    context.print({ text, json });
  };
  const isLive = isRight(verdict) && work.task.live !== undefined && flags.live !== false;
  const tests = [...heading(), ...testLines(build, work, verdict), ...printedLines(verdict, language)];
  // The run of the node takes some seconds: whoever reads has the verdict of the tests before.
  const isFirst = isLive && flags.json !== true;
  if (isFirst) print(tests, undefined);
  const live = isLive ? await runs.verdict(signal) : undefined;
  const isAllRight = isRight(verdict) && live?.isRight !== false;
  const last = isAllRight ? ["", ...(await lastLines(build, work, isNoted))] : [];
  const lines = [...(isFirst ? [] : tests), ...(live?.lines ?? []), ...last];
  print(lines, { ...jsonOf(work, verdict, language), live: live ?? null });
  return isAllRight;
}

/** Runs the tests and notes the stages that pass. */
async function judged(build: BuildContext, work: Work, signal: AbortSignal) {
  const { clock, store } = build;
  const verdict = await judge({ clock, signal }, work, work.path);
  const isNoted = await noted(build, () => notePassed(store, work.task, verdict.passed));
  return { verdict, isNoted };
}

function isRight({ wrong, failure }: Verdict): boolean {
  return wrong === undefined && failure === undefined;
}

/** The stages that pass, then the first thing that is wrong. */
function testLines({ language }: BuildContext, work: Work, verdict: Verdict): readonly string[] {
  const { task, golden, name } = work;
  const words = COMMAND_WORDS[language];
  const titleOf = (id: string) =>
    id === GOLDEN_STAGE
      ? words.golden(golden?.cases.length ?? 0, golden?.release ?? "")
      : (task.stages.find((one) => one.id === id)?.title[language] ?? id);
  const passed = verdict.passed.map((id) => words.passed(titleOf(id)));
  const why = wrongText(work, verdict, name, language);
  if (why === undefined) return passed;
  const stage = verdict.wrong?.stage ?? task.stages[verdict.passed.length]?.id ?? GOLDEN_STAGE;
  return [...passed, words.wrong(titleOf(stage)), ...why.map((line) => `  ${line}`)];
}

function printedLines({ printed }: Verdict, language: BuildContext["language"]): readonly string[] {
  if (printed.count === 0) return [];
  const words = WORDS[language];
  const more = printed.count - printed.lines.length;
  return [
    words.printed(printed.count),
    ...printed.lines.map((line) => `  ${line}`),
    ...(more > 0 ? [`  ${words.more(more)}`] : []),
  ];
}

async function lastLines(
  { language, store }: BuildContext,
  { task }: Work,
  isNoted: boolean,
): Promise<readonly string[]> {
  const words = COMMAND_WORDS[language];
  const labs = words.labs(task.labs.map((id) => `kubelab learn start ${id}`).join(", "));
  if (!isNoted) return [words.doneUnnoted(task.id), labs];
  const tasks = await allTasks();
  const progress = await progressOf(store, tasks);
  const at = tasks.findIndex(({ id }) => id === task.id);
  const { points = 0, mostPoints = 0, shown = 0 } = progress[at] ?? {};
  const open = (i: number) => (progress[i]?.done.length ?? 0) < (tasks[i]?.stages.length ?? 0);
  const order = [...tasks.keys()].map((i) => (at + 1 + i) % tasks.length);
  const next = order.find(open);
  const then = next === undefined ? words.allDone : words.nextTask(tasks[next]?.id ?? "");
  return [words.done(task.id, points, mostPoints), ...(shown === 0 ? [] : [words.shownStages(shown)]), labs, then];
}

/** Wraps a line; the lines that follow keep its indent. */
function indentedWrap(line: string, columns: number): readonly string[] {
  const indent = /^ */.exec(line)?.[0] ?? "";
  return wrap(line, columns - indent.length).map((part) => `${indent}${part}`);
}

function jsonOf(work: Work, verdict: Verdict, language: BuildContext["language"]) {
  const { passed, wrong, failure, printed } = verdict;
  return {
    task: work.task.id,
    isRight: isRight(verdict),
    passed,
    wrong: wrong ?? null,
    failure: failure ?? null,
    printedLines: printed.count,
    sentence: wrongText(work, verdict, work.name, language)?.join("\n") ?? null,
  };
}
