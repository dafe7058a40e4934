import { inParallel } from "../../util/async/concurrency.js";
import { LabError } from "../../util/errors.js";
import { pathFrom } from "../../util/os/paths.js";
import type { Random } from "../../util/random.js";
import { nearest } from "../../util/text/nearest.js";
import { Agent, type AgentLimits } from "./agent.js";
import { Exam, type Level, StopLevel } from "./exam.js";
import { allLevels } from "./levels.js";
import { openPlace } from "./place.js";
import type { LevelPlan, Verdict } from "./requirement.js";

/** What `{...}` in the agent's command line stands for. */
const PLACEHOLDERS = ["kubeconfig", "bootstrap", "server", "cri", "node", "manifests", "dir"] as const;

export interface GradeOptions {
  /** the agent's program and arguments, with placeholders */
  readonly command: readonly string[];
  /** only this level; undefined: all */
  readonly level: number | undefined;
  readonly kubeVersion: string;
  readonly speed: number;
  /** levels that are examined at a time */
  readonly jobs: number;
  readonly limits: AgentLimits;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Hears of the examination while it runs. */
export interface GradeObserver {
  levelBegins(level: LevelPlan): void;
  verdict(verdict: Verdict): void;
}

/** What is known after the levels. */
export interface Grade {
  readonly verdicts: readonly Verdict[];
  /** the last output of the agent's last run, if a requirement failed */
  readonly lastLines: readonly string[];
}

/** The levels to examine. @param number undefined: all */
export async function chosenLevels(number: number | undefined): Promise<readonly Level[]> {
  return (await allLevels()).filter((level) => number === undefined || level.number === number);
}

/**
 * Runs an agent through the levels, each with a cluster of its own on loopback. Nothing of it runs afterwards.
 * @throws LabError USAGE for a program that cannot be started; as the starts of control plane and runtime; the signal's reason
 */
export async function gradeAgent(
  options: GradeOptions,
  random: Random,
  observer: GradeObserver,
  signal: AbortSignal,
): Promise<Grade> {
  const levels = await chosenLevels(options.level);
  const grades = new Map<Level, Grade>();
  let isHopeless = false;
  await inParallel(levels, options.jobs, async (level) => {
    // An agent without a Node has none in the next level either.
    if (isHopeless) return;
    observer.levelBegins(level);
    const done = await examineLevel(level, options, random, observer, signal);
    grades.set(level, done);
    isHopeless ||= done.verdicts.every(({ outcome }) => outcome !== "passed");
  });
  const done = levels.flatMap((level) => grades.get(level) ?? []);
  const failed = done.findLast(({ verdicts }) => verdicts.some(({ outcome }) => outcome === "failed"));
  return { verdicts: done.flatMap(({ verdicts }) => verdicts), lastLines: failed?.lastLines ?? [] };
}

async function examineLevel(
  level: Level,
  options: GradeOptions,
  random: Random,
  observer: GradeObserver,
  signal: AbortSignal,
): Promise<Grade> {
  const { command, kubeVersion, speed, limits, cwd, env } = options;
  const uses = (placeholder: string) => command.some((word) => word.includes(`{${placeholder}}`));
  const { certificateMs } = level;
  const bootstraps = uses("bootstrap");
  // An agent that got its certificate with its kubeconfig keeps it.
  const short = bootstraps && certificateMs !== undefined ? { certificateMs } : {};
  await using place = await openPlace({ kubeVersion, speed, bootstraps, ...short }, random, signal);
  const [program = "", ...args] = command.map((word) => filled(word, place.values));
  const path = program.includes("/") ? pathFrom(cwd, program) : program;
  const agentEnv = { ...env, KUBELAB_TIME: place.time.url };
  const startAgent = () => new Agent({ program: path, args, cwd, limits, env: agentEnv });
  await using exam = new Exam(level, place, startAgent, uses, observer.verdict, signal);
  try {
    await level.examine(exam);
  } catch (error) {
    if (!(error instanceof StopLevel)) throw error;
    const { startProblem } = exam.agent;
    if (startProblem !== undefined) {
      const hint = "Name the agent's program after --, as you would in a shell: with its interpreter if it needs one.";
      throw new LabError("USAGE", `cannot start the agent: ${startProblem}`, hint);
    }
    exam.failRest(error.message);
  }
  const { lastLines } = exam.agent;
  return { verdicts: inOrder(level, exam.verdicts), lastLines };
}

function inOrder({ requirements }: LevelPlan, verdicts: readonly Verdict[]): readonly Verdict[] {
  return requirements.flatMap(({ id }) => verdicts.filter(({ requirement }) => requirement.id === id));
}

const PLACEHOLDER = /\{([a-z]+)\}/g;

function filled(word: string, values: Readonly<Record<string, string>>): string {
  return word.replace(PLACEHOLDER, (all, name: string) => values[name] ?? all);
}

/** Checks the agent's command line, before anything starts. @throws LabError USAGE */
export function checkPlaceholders(command: readonly string[]): void {
  const used = command.flatMap((word) => [...word.matchAll(PLACEHOLDER)].map(([, name = ""]) => name));
  const known: readonly string[] = PLACEHOLDERS;
  const unknown = used.find((name) => !known.includes(name));
  const all = known.map((name) => `{${name}}`).join(", ");
  if (unknown !== undefined) {
    const like = nearest(known, unknown);
    const meant = like === undefined ? "" : `: did you mean {${like}}?`;
    throw new LabError("USAGE", `there is no placeholder {${unknown}}${meant}`, `There are ${all}.`);
  }
  if (!used.includes("kubeconfig") && !used.includes("bootstrap")) {
    const message = "the agent's command line names no cluster: it has neither {kubeconfig} nor {bootstrap}";
    throw new LabError("USAGE", message, `Placeholders: ${all}.`);
  }
}
