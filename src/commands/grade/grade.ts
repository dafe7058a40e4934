import { stat } from "node:fs/promises";
import { type Command, InvalidArgumentError } from "commander";
import type { LevelPlan, Verdict } from "../../lab/grade/requirement.js";
import type { GradeObserver, GradeOptions } from "../../lab/grade/run.js";
import { SystemClock } from "../../util/clock.js";
import { writeFileAtomic } from "../../util/os/files.js";
import { pathFrom } from "../../util/os/paths.js";
import { OLDEST_RELEASE, parseKubeVersion } from "../../util/release/facts.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addPlainOptions, parsePath, parseSpeed } from "../cli/options.js";

const MAX_PROCESSES = 64;
const WATCH_MS = 300;
const MAX_LEVEL = 6;

interface GradeFlags {
  readonly level?: number;
  readonly kubeVersion: string;
  readonly speed: number;
  readonly memory: number;
  readonly jobs: number;
  readonly junit?: string;
  readonly watch?: true;
}

/** `kubelab grade -- PROGRAM ...`: is this node agent a kubelet? */
export function addGradeCommand(command: Command, context: CliContext): void {
  addPlainOptions(
    command.description(
      "Starts a control plane and a container runtime on this machine, runs your node agent against them, and says which duties of a kubelet it fulfils. Verdicts come from what the API server and the runtime saw. docs/grade.md has the levels.",
    ),
  )
    .argument("<agent...>", "its program and arguments; {kubeconfig}, {cri}, {node} and others are replaced")
    .option("--level <number>", "examine only this level, 1 to 6 (default: one after the other)", parseLevel)
    .option("--watch", "examine it again whenever a file of its command line changes; Ctrl-C ends it")
    .option("--junit <file>", "also write the verdicts as JUnit's XML", parsePath)
    .option("--kube-version <release>", "release of the API server", OLDEST_RELEASE)
    .option("--speed <factor>", "how fast time passes for an agent that reads KUBELAB_TIME", parseSpeed, 10)
    .option(
      "--jobs <number>",
      "examine this many levels at a time; the agent must then choose free ports",
      parseJobs,
      1,
    )
    .option("--memory <MB>", "end an agent that uses more memory", parseMemory, 512)
    .action((agent: readonly string[], flags: GradeFlags) => runGrade(context, agent, flags));
  addExamples(
    command,
    "kubelab grade -- ./my-kubelet --kubeconfig {kubeconfig} --node {node}",
    "kubelab grade --level 2 -- ./my-kubelet {kubeconfig} --cri {cri}",
    "kubelab grade --watch -- python3 agent.py {kubeconfig} {node}",
  );
}

async function runGrade(context: CliContext, command: readonly string[], flags: GradeFlags): Promise<void> {
  for (;;) {
    const before = await timesOf(context.cwd, command);
    const isPassed = await gradeOnce(context, command, flags);
    if (flags.watch !== true) return isPassed ? undefined : context.exitWith(1);
    using _line = context.progress(said(context, "waiting for a change of the agent's files; Ctrl-C ends it"));
    while ((await timesOf(context.cwd, command)) === before) await new SystemClock().sleep(WATCH_MS, context.signal);
  }
}

/** @returns whether all requirements are passed */
async function gradeOnce(context: CliContext, command: readonly string[], flags: GradeFlags): Promise<boolean> {
  const [{ checkPlaceholders, chosenLevels, gradeAgent }, report] = await Promise.all([
    import("../../lab/grade/run.js"),
    import("../../lab/grade/report.js"),
  ]);
  checkPlaceholders(command);
  const { cwd, env, random, signal } = context;
  const options: GradeOptions = {
    ...{ command, level: flags.level, kubeVersion: parseKubeVersion(flags.kubeVersion), speed: flags.speed },
    jobs: flags.jobs,
    ...{ limits: { processes: MAX_PROCESSES, memoryMb: flags.memory }, cwd, env },
  };
  context.notice(said(context, report.durationLine(await chosenLevels(flags.level), flags.speed, flags.jobs)));
  using line = context.progress("");
  const begun: LevelPlan[] = [];
  const usesRuntime = command.some((word) => word.includes("{cri}"));
  const known: Verdict[] = [];
  const observer: GradeObserver = {
    levelBegins: (level) => {
      begun.push(level);
      line.update(said(context, report.levelHeading(level)));
    },
    verdict: (verdict) => {
      known.push(verdict);
      if (!context.showsProgress) return;
      context.notice(said(context, report.verdictLine(verdict)));
      if (verdict.outcome === "failed") context.notice(said(context, report.reasonLine(verdict)));
    },
  };
  const show = (verdicts: readonly Verdict[], lastLines: readonly string[]) => {
    line.stop();
    const text = report.gradeText(verdicts, lastLines, usesRuntime);
    context.print({ isProse: true, text, json: report.gradeJson(verdicts) });
  };
  const graded = gradeAgent(options, random, observer, signal).catch((error: unknown) => {
    // What is known already is worth something after Ctrl-C.
    if (signal.aborted && known.length > 0) show(report.interrupted(begun, known), []);
    throw error;
  });
  const { verdicts, lastLines } = await graded;
  if (flags.junit !== undefined) await writeFileAtomic(pathFrom(cwd, flags.junit), `${report.gradeXml(verdicts)}\n`);
  show(verdicts, lastLines);
  return verdicts.every(({ outcome }) => outcome === "passed");
}

function said({ say }: CliContext, text: string): string {
  return say?.(text) ?? text;
}

/** When the files that the command line names were last changed. */
async function timesOf(cwd: string, command: readonly string[]): Promise<string> {
  const times = command.map(async (word) => (await stat(pathFrom(cwd, word)).catch(() => undefined))?.mtimeMs ?? 0);
  return (await Promise.all(times)).join();
}

function parseLevel(text: string): number {
  const level = Number(text);
  if (Number.isInteger(level) && level >= 1 && level <= MAX_LEVEL) return level;
  throw new InvalidArgumentError(`expected a level from 1 to ${MAX_LEVEL}.`);
}

function parseJobs(text: string): number {
  const jobs = Number(text);
  if (Number.isInteger(jobs) && jobs >= 1 && jobs <= MAX_LEVEL) return jobs;
  throw new InvalidArgumentError(`expected a number from 1 to ${MAX_LEVEL}.`);
}

function parseMemory(text: string): number {
  const megabytes = Number(text);
  if (Number.isInteger(megabytes) && megabytes >= 16) return megabytes;
  throw new InvalidArgumentError("expected a whole number of MB from 16.");
}
