import { rm } from "node:fs/promises";
import { join } from "node:path";
import { defined } from "../../../util/defined.js";
import type { Language } from "../../../util/i18n/language.js";
import type { LabEnvironment } from "../environment/environment.js";
import type { Lab } from "../format/lab.js";
import { answerFileOf, literalMistakes, mistakeIn } from "../format/mistakes.js";
import type { CheckStep, Step } from "../format/schema.js";
import { checkOf } from "../format/steps.js";
import { LabBroken, type LabRuns } from "../session/actions.js";
import type { LabMessage } from "../session/message.js";
import { LabSession } from "../session/session.js";
import { Leaks } from "./prove-leaks.js";
import { frameTextProblems, stepTextProblems } from "./prove-texts.js";

export interface ProofOptions {
  readonly language: Language;
  readonly seed: number;
  /** the messages that a learner would see */
  readonly onMessage?: (message: LabMessage) => void;
  /** the texts of all steps, in each language */
  readonly onText?: (language: Language, message: LabMessage) => void;
}

/** The result of a proof: one line for each deviation from the definition. An empty result means that the lab works. */
export interface Proof {
  readonly lab: string;
  readonly steps: number;
  readonly problems: readonly string[];
}

/**
 * Runs a lab without a learner, from its starting state to its end: each check fails before it is solved and succeeds after, each
 * prediction has exactly one right answer, both show the facts that decided them, but no answer of a later task, wrong answers that the
 * author foresaw are wrong, the lines to look at exist, and commands end as specified. The texts of each step are shown in all languages.
 * @throws the signal's reason
 */
export async function proveLab(
  lab: Lab,
  environment: LabEnvironment,
  options: ProofOptions,
  signal: AbortSignal,
): Promise<Proof> {
  const { id, kind, steps } = lab.definition;
  const { seed, onText } = options;
  const texts = { lab, environment, seed, ...defined({ onText }) };
  const problems = [...(await frameTextProblems(texts))];
  const done: string[] = [];
  const leaks = new Leaks(environment.folder);
  const messages: LabMessage[] = [];
  await using session = new LabSession(lab, environment, {
    ...options,
    emit: (message) => {
      messages.push(message);
      options.onMessage?.(message);
    },
  });
  try {
    await session.begin(signal);
    leaks.know(messages);
    while (session.step !== undefined) {
      const { step } = session;
      const at = step.id;
      messages.length = 0;
      session.present();
      problems.push(...(await stepTextProblems(texts, done)).map((problem) => `${at}: ${problem}`));
      await proveBefore(session, problems, signal);
      const choice = "predict" in step ? step.predict[0] : undefined;
      await session.solve(signal);
      if (!(await session.perform(choice, signal))) {
        problems.push(`${at}: ${failureOf(messages)}`);
        break;
      }
      problems.push(...missingLooks(messages).map((pattern) => `${at}: no line has ${pattern}`));
      if (isDecision(step) && !messages.some(({ kind }) => DECIDING.has(kind)))
        problems.push(`${at}: nothing shows what decided it`);
      // A chapter's evidence may show what its later tasks practise; an incident's would give the diagnosis away.
      if (kind === "incident") problems.push(...(await leaks.problemsOf(step, messages)));
      done.push(at);
    }
  } catch (error) {
    if (signal.aborted) throw error;
    const where = session.step?.id ?? "end";
    problems.push(`${where}: ${error instanceof LabBroken ? error.message : describe(error)}`);
  }
  return { lab: id, steps: steps.length, problems };
}

/** A check that succeeds before its step is done teaches nothing. */
async function proveBefore(session: LabSession, problems: string[], signal: AbortSignal): Promise<void> {
  const { step } = session;
  if (step === undefined) return;
  const check = checkOf(step);
  if (check === undefined) return;
  const verdict = await session.runs.check({ ...check, within: undefined }, signal);
  if (verdict.ok) problems.push(`${step.id}: its check succeeds before the step is done: ${verdict.seen}`);
  if ("check" in step) problems.push(...(await mistakeProblems(step, session.runs, signal)));
}

/** Makes each mistake whose pattern is a literal answer. */
async function mistakeProblems(step: CheckStep, runs: LabRuns, signal: AbortSignal): Promise<readonly string[]> {
  const problems: string[] = [];
  const { check } = step;
  const { folder } = runs.environment;
  const file = answerFileOf(check);
  if (file === undefined) return problems;
  for (const [id, answer] of literalMistakes(step)) {
    await runs.act({ write: file, text: `${answer}\n` }, step.id, signal);
    const { ok } = await runs.check({ ...check, within: undefined }, signal);
    const made = await mistakeIn(step, folder);
    if (ok) problems.push(`${step.id}: ${answer} is right, and no mistake`);
    if (made !== id) problems.push(`${step.id}: ${answer} is mistake ${made}, not ${id}`);
    await rm(join(folder, file));
  }
  return problems;
}

/** Messages that show the facts behind a verdict or an answer. */
const DECIDING: ReadonlySet<LabMessage["kind"]> = new Set(["evidence", "table", "look"]);

function missingLooks(messages: readonly LabMessage[]): readonly string[] {
  return messages.flatMap((one) => (one.kind === "look" && one.isMissing ? [one.line] : []));
}

function isDecision(step: Step): boolean {
  return "predict" in step || "check" in step;
}

function failureOf(messages: readonly LabMessage[]): string {
  const verdicts = messages.flatMap((one) => (one.kind === "verdict" && !one.ok ? [one] : []));
  const last = verdicts.at(-1);
  const output = messages.flatMap((one) => (one.kind === "output" ? [one.text] : [])).join("");
  const tail = output.trimEnd().split("\n").slice(-8).join("\n");
  return `${last?.raw ?? "-"}${tail === "" ? "" : `\n${tail}`}`;
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
