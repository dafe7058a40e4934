import { resolve } from "node:path";
import type { Verdict } from "../../src/lab/grade/requirement.js";
import { gradeAgent } from "../../src/lab/grade/run.js";
import { zh } from "../../src/util/i18n/sentences/zh.js";
import { Sentences } from "../../src/util/i18n/sentences.js";
import { SystemRandom } from "../../src/util/random.js";

const AGENTS = resolve(import.meta.dirname, "../lab/grade/agents");
const chinese = new Sentences(zh);
const HAN = /\p{Script=Han}/u;

export interface Graded {
  readonly verdicts: readonly Verdict[];
  readonly lastLines: readonly string[];
  /** the requirements that were not passed */
  readonly failed: readonly string[];
  /** the sentence of a requirement's verdict */
  why(id: string): string;
}

/** Examines an agent, faster than in real time. @param words a program and arguments, or the file of a test's agent and its mistake */
export async function grade(level: number | undefined, ...words: readonly string[]): Promise<Graded> {
  const signal = new AbortController().signal;
  const observer = { levelBegins: () => {}, verdict: () => {} };
  const command = words.map((word) => (/^level-\d\.mjs$/.test(word) ? `${AGENTS}/${word}` : word));
  const options = {
    ...{ command, level, kubeVersion: "1.25", speed: 10, jobs: 1, limits: { memoryMb: 400, processes: 40 } },
    ...{ cwd: resolve(import.meta.dirname, "../.."), env: process.env },
  };
  const { verdicts, lastLines } = await gradeAgent(options, new SystemRandom(), observer, signal);
  const failed = verdicts.filter(({ outcome }) => outcome !== "passed").map(({ requirement }) => requirement.id);
  const why = (id: string) => verdicts.find(({ requirement }) => requirement.id === id)?.why ?? `no verdict ${id}`;
  return { verdicts, lastLines, failed, why };
}

/** The sentences of verdicts that have no Chinese. */
export function untranslated(verdicts: readonly Verdict[]): readonly string[] {
  return verdicts
    .flatMap(({ why, requirement }) => [why, requirement.title])
    .filter((sentence) => !HAN.test(chinese.say(sentence)));
}
