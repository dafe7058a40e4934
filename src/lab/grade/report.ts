import { defined } from "../../util/defined.js";
import { counted } from "../../util/text/counted.js";
import { type JunitSuite, junitXml } from "../../util/text/junit.js";
import type { LevelPlan, Outcome, Verdict } from "./requirement.js";

/** Of the agent's own output, for its author. */
const MAX_LAST_LINES = 30;
const NO_RUNTIME =
  "The agent's command line has no {cri}, the endpoint of the container runtime: what a container did cannot be seen there.";
const SIGNS: Readonly<Record<Outcome, string>> = { passed: "pass", failed: "FAIL", skipped: "skip" };

/** Points of some verdicts. */
export interface Score {
  readonly points: number;
  readonly of: number;
}

function scoreOf(verdicts: readonly Verdict[]): Score {
  const sum = (given: readonly Verdict[]) => given.reduce((points, { requirement }) => points + requirement.points, 0);
  return { points: sum(verdicts.filter(({ outcome }) => outcome === "passed")), of: sum(verdicts) };
}

/** The highest level up to which every requirement is passed; 0: not even the first; undefined: the first was not examined. */
function levelReached(verdicts: readonly Verdict[]): number | undefined {
  if (!verdicts.some(({ level }) => level.number === 1)) return undefined;
  const groups = byLevel(verdicts);
  const first = groups.findIndex(([, own]) => own.some(({ outcome }) => outcome !== "passed"));
  return first === -1 ? groups.length : first;
}

/** Verdicts come in the order of their levels. */
function byLevel(verdicts: readonly Verdict[]): readonly (readonly [LevelPlan, readonly Verdict[]])[] {
  const levels = [...new Set(verdicts.map(({ level }) => level))];
  return levels.map((level) => [level, verdicts.filter((one) => one.level === level)]);
}

/** A verdict in a line, for someone who waits: `FAIL  renews its Lease every 10 s`. */
export function verdictLine({ requirement, outcome }: Verdict): string {
  return `${SIGNS[outcome]}  ${requirement.title}`;
}

/** The fact that decided a verdict, below its line. */
export function reasonLine({ why }: Verdict): string {
  return `      ${why}`;
}

/**
 * The lines of one verdict: what it is about, the fact that decided it, and for a failure what was seen and who does it right.
 * @param before the verdict above it: a reason that ended the level is said once
 */
function verdictLines(verdict: Verdict, before: Verdict | undefined): readonly string[] {
  const { requirement, outcome, why, evidence } = verdict;
  const { upstream } = requirement;
  if (outcome === "failed" && before?.outcome === "failed" && before.why === why) return [verdictLine(verdict)];
  const lines = [verdictLine(verdict), reasonLine(verdict)];
  if (outcome !== "failed") return lines;
  return [...lines, ...evidence.map((line) => `      | ${line}`), `      ${upstream.file} (${upstream.func})`];
}

/**
 * The score, all levels with their requirements and verdicts, and what the agent wrote last.
 * @param usesRuntime the agent's command line has `{cri}`
 */
export function gradeText(verdicts: readonly Verdict[], lastLines: readonly string[], usesRuntime: boolean): string {
  const levels = byLevel(verdicts).flatMap(([level, own]) => {
    const notes = level.runsPods === true && !usesRuntime ? [NO_RUNTIME] : [];
    return [levelHeading(level), ...notes, ...own.flatMap((one, i) => verdictLines(one, own[i - 1]))];
  });
  const last = lastLines.slice(-MAX_LAST_LINES).map((line) => `| ${line}`);
  return [scoreLine(verdicts), ...levels, ...(last.length === 0 ? [] : ["The agent's last output:", ...last])].join(
    "\n",
  );
}

/** The verdicts after Ctrl-C. @param begun the levels that were examined: the rest of them has none @param known so far */
export function interrupted(begun: readonly LevelPlan[], known: readonly Verdict[]): readonly Verdict[] {
  const isKnown = (id: string) => known.some(({ requirement }) => requirement.id === id);
  const why = "not examined: the examination was interrupted";
  return begun.flatMap((level) => {
    const rest = level.requirements
      .filter(({ id }) => !isKnown(id))
      .map((requirement) => ({ level, requirement, outcome: "skipped", why, evidence: [] }) as const);
    return [...known.filter((one) => one.level === level), ...rest];
  });
}

/** Said before the start. @param jobs levels at a time */
export function durationLine(levels: readonly LevelPlan[], speed: number, jobs: number): string {
  const all = levels.map((level) => level.seconds);
  const seconds = Math.max(...all, Math.ceil(all.reduce((sum, one) => sum + one, 0) / jobs));
  const fast = Math.ceil(seconds / speed);
  return `This takes about ${seconds} s, or ${fast} s for an agent that reads KUBELAB_TIME, and longer for each requirement that fails.`;
}

/** `Level 1: a node that the cluster can count on` */
export function levelHeading({ number, title }: LevelPlan): string {
  return `Level ${number}: ${title}`;
}

/** `90 of 100 points; level reached: 0; 1 requirement failed, 0 skipped` */
function scoreLine(verdicts: readonly Verdict[]): string {
  const { points, of } = scoreOf(verdicts);
  const level = levelReached(verdicts);
  const reached = level === undefined ? "" : `; level reached: ${level}`;
  const failed = verdicts.filter(({ outcome }) => outcome === "failed").length;
  const skipped = verdicts.filter(({ outcome }) => outcome === "skipped").length;
  return `${points} of ${of} points${reached}; ${counted(failed, "requirement")} failed, ${skipped} skipped`;
}

/** `level`, the one reached, is absent if the first was not examined. */
export function gradeJson(verdicts: readonly Verdict[]): object {
  return {
    ...scoreOf(verdicts),
    ...defined({ level: levelReached(verdicts) }),
    verdicts: verdicts.map(({ level, requirement, outcome, why, evidence }) => {
      const { id, title, points, upstream } = requirement;
      return { level: level.number, id, title, points, outcome, why, evidence, upstream };
    }),
  };
}

/** A suite for each level, a test case for each requirement. */
export function gradeXml(verdicts: readonly Verdict[]): string {
  return junitXml(byLevel(verdicts).map(([level, own]) => ({ name: levelHeading(level), cases: own.map(caseOf) })));
}

function caseOf({ level, requirement, outcome, why }: Verdict): JunitSuite["cases"][number] {
  const one = { group: `grade.level${level.number}`, name: `${requirement.id}: ${requirement.title}` };
  if (outcome === "failed") return { ...one, failure: why };
  return outcome === "skipped" ? { ...one, isSkipped: true } : one;
}
