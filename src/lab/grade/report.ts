import { counted } from "../../util/text/counted.js";
import { type JunitSuite, junitXml } from "../../util/text/junit.js";
import { LEVELS } from "./levels.js";
import type { LevelPlan, Outcome, Verdict } from "./requirement.js";

/** Of the agent's own output, for its author. */
const MAX_LAST_LINES = 10;
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

/** The highest level up to which every requirement is passed; 0: not even the first. */
function levelReached(verdicts: readonly Verdict[]): number {
  let reached = 0;
  for (const { number } of LEVELS) {
    const own = verdicts.filter(({ level }) => level === number);
    if (own.length === 0 || own.some(({ outcome }) => outcome !== "passed")) break;
    reached = number;
  }
  return reached;
}

/** The lines of one verdict: what it is about, the fact that decided it, and for a failure what was seen and who does it right. */
function verdictLines({ requirement, outcome, why, evidence }: Verdict): readonly string[] {
  const { title, upstream } = requirement;
  const lines = [`${SIGNS[outcome]}  ${title}`, `      ${why}`];
  if (outcome !== "failed") return lines;
  return [...lines, ...evidence.map((line) => `      | ${line}`), `      ${upstream.file} (${upstream.func})`];
}

/** All levels: their requirements with verdicts, then the score, and what the agent wrote last. */
export function gradeText(verdicts: readonly Verdict[], lastLines: readonly string[]): string {
  const levels = LEVELS.flatMap((level) => {
    const own = verdicts.filter((one) => one.level === level.number);
    return own.length === 0 ? [] : [levelHeading(level), ...own.flatMap(verdictLines)];
  });
  const last = lastLines.slice(-MAX_LAST_LINES).map((line) => `| ${line}`);
  return [scoreLine(verdicts), ...levels, ...(last.length === 0 ? [] : ["The agent's last output:", ...last])].join(
    "\n",
  );
}

/** Said before the start. @param seconds of real time */
export function durationLine(seconds: number, speed: number): string {
  const fast = Math.ceil(seconds / speed);
  return `This takes about ${seconds} s; an agent that reads KUBELAB_TIME needs about ${fast} s.`;
}

/** `Level 1: a node that the cluster can count on` */
export function levelHeading({ number, title }: LevelPlan): string {
  return `Level ${number}: ${title}`;
}

/** `90 of 100 points; level reached: 0; 1 requirement failed, 0 skipped` */
function scoreLine(verdicts: readonly Verdict[]): string {
  const { points, of } = scoreOf(verdicts);
  const isWhole = verdicts.some(({ level }) => level === 1);
  const reached = isWhole ? `; level reached: ${levelReached(verdicts)}` : "";
  const failed = verdicts.filter(({ outcome }) => outcome === "failed").length;
  const skipped = verdicts.filter(({ outcome }) => outcome === "skipped").length;
  return `${points} of ${of} points${reached}; ${counted(failed, "requirement")} failed, ${skipped} skipped`;
}

export function gradeJson(verdicts: readonly Verdict[]): object {
  return {
    ...scoreOf(verdicts),
    level: levelReached(verdicts),
    verdicts: verdicts.map(({ level, requirement, outcome, why, evidence }) => {
      const { id, title, points, upstream } = requirement;
      return { level, id, title, points, outcome, why, evidence, upstream };
    }),
  };
}

/** A suite for each level, a test case for each requirement. */
export function gradeXml(verdicts: readonly Verdict[]): string {
  const suites = LEVELS.map((level): JunitSuite => {
    const own = verdicts.filter((one) => one.level === level.number);
    return { name: levelHeading(level), cases: own.map(caseOf) };
  });
  return junitXml(suites.filter(({ cases }) => cases.length > 0));
}

function caseOf({ level, requirement, outcome, why }: Verdict): JunitSuite["cases"][number] {
  const one = { group: `grade.level${level}`, name: `${requirement.id}: ${requirement.title}` };
  if (outcome === "failed") return { ...one, failure: why };
  return outcome === "skipped" ? { ...one, isSkipped: true } : one;
}
