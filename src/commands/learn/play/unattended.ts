import { flagsOf, type RealTarget } from "../../../lab/labs/environment/own/cluster.js";
import type { Lab } from "../../../lab/labs/format/lab.js";
import type { LabSummary } from "../../../lab/labs/format/library.js";
import type { LabDefinition, PredictStep } from "../../../lab/labs/format/schema.js";
import { checkChoice } from "../../../lab/labs/format/steps.js";
import { LabBroken } from "../../../lab/labs/session/actions.js";
import type { LabMessage } from "../../../lab/labs/session/message.js";
import { openSession } from "../../../lab/labs/session/open-session.js";
import { fileErrorMessage } from "../../../util/i18n/file-error.js";
import { formatMessage, LocalizedError } from "../../../util/i18n/message-error.js";
import { pathFrom } from "../../../util/os/paths.js";
import { readFileAtMost } from "../../../util/os/read-at-most.js";
import { nearest } from "../../../util/text/nearest.js";
import type { LearnContext } from "../context.js";
import { showResult } from "../play.js";
import type { InteractiveOptions } from "./interactive.js";
import { openLabPage, presentLab } from "./live.js";
import { LabReporter } from "./reporter.js";

export interface UnattendedOptions extends InteractiveOptions {
  /** YAML or JSON: the choice by step */
  readonly answersFile?: string;
}

type Answers = Readonly<Record<string, string>>;

/**
 * A whole lab without questions: commands are run, checks solved, predictions answered from a file.
 * @throws LabError USAGE before the first step if a prediction has no answer; FAILED if a step is not done
 */
export async function runUnattended(
  env: LearnContext,
  summary: LabSummary,
  { answersFile, ...options }: UnattendedOptions,
): Promise<void> {
  const answers = answersFile === undefined ? {} : await readAnswers(env, answersFile);
  const lab = await env.library.load(summary.id);
  if (lab !== undefined) checkAnswers(env, lab, answers);
  const reporter = new LabReporter(env, "stdout");
  using page = await openLabPage(env);
  const onMessage = (message: LabMessage) => {
    reporter.tell(message);
    page?.tell(message);
  };
  await using open = await openSession(env, summary, { ...options, onMessage, sink: env.context.ui });
  await using _page = presentLab(env, open, page);
  const { session } = open;
  try {
    while (session.step !== undefined) {
      session.present();
      const { step } = session;
      await session.solve(env.context.signal);
      if (await session.perform(answers[step.id], env.context.signal)) continue;
      throw new LocalizedError(
        "FAILED",
        env.say("stepFailed", { id: summary.id, step: step.id }),
        env.say("stepFailedHint"),
      );
    }
    await open.written();
    await showResult(env, summary, "stdout");
  } catch (error) {
    if (!(error instanceof LabBroken)) throw error;
    const message = `${env.say("labBroken")}: ${error.message}`;
    throw new LocalizedError("FAILED", message, env.say("stepFailedHint"), { cause: error });
  } finally {
    reporter.stop();
  }
}

/** Checks that every question has an answer among its choices, and every answer a question. @throws LabError USAGE */
function checkAnswers({ say }: LearnContext, { definition }: Lab, answers: Answers): void {
  const { id } = definition;
  const questions = questionsOf(definition);
  const names = questions.map((step) => step.id);
  for (const step of Object.keys(answers)) {
    if (names.includes(step)) continue;
    const like = nearest(names, step);
    const message =
      like === undefined ? say("unknownStep", { id, step }) : say("unknownStepNearest", { id, step, nearest: like });
    throw new LocalizedError("USAGE", message, say("unknownStepHint", { steps: names.join(", ") || "-" }));
  }
  const open = questions.filter((step) => answers[step.id] === undefined);
  if (open.length > 0) {
    const missing = open.map((step) => step.id).join(", ");
    throw new LocalizedError(
      "USAGE",
      say("noAnswer", { id, step: missing }),
      [say("noAnswerHint"), ...linesFor(open)].join("\n"),
    );
  }
  for (const step of questions) checkChoice(step, answers[step.id] ?? "");
}

function questionsOf({ steps }: LabDefinition): readonly PredictStep[] {
  return steps.flatMap((step) => ("predict" in step ? [step] : []));
}

/** The lines of an answers file, each with all choices: `levels: requests | bodies`. */
function linesFor(questions: readonly PredictStep[]): readonly string[] {
  return questions.map(({ id, predict }) => `${id}: ${predict.join(" | ")}`);
}

/** Why a lab needs more flags on the learner's own cluster, and a command line that plays it there. */
export function needsTerminal(
  { context, say }: LearnContext,
  { definition }: Lab,
  target: RealTarget,
  canAsk: boolean,
): LocalizedError {
  const start = `kubelab learn start ${definition.id} ${flagsOf(context, target)}`;
  const questions = questionsOf(definition);
  const unattended =
    questions.length === 0
      ? [say("realNeedsTerminalHint", { command: `${start} --yes` })]
      : [say("realNeedsAnswersHint", { command: `${start} --yes --answers answers.yaml` }), ...linesFor(questions)];
  const hint = canAsk ? say("realDetachHint", { command: start }) : unattended.join("\n");
  return new LocalizedError("USAGE", say("realNeedsTerminal"), hint);
}

async function readAnswers({ say, context }: LearnContext, file: string): Promise<Answers> {
  let text: string;
  try {
    text = (await readFileAtMost(pathFrom(context.cwd, file), context.signal)).toString();
  } catch (cause) {
    const message = say("fileUnreadable", { file, why: formatMessage(fileErrorMessage(cause), say) });
    throw new LocalizedError("BAD_FILE", message, say("answersFileHint"), { cause });
  }
  const misread = (cause?: unknown) =>
    new LocalizedError("BAD_FILE", say("noAnswersFile", { file }), say("noAnswersFileHint"), { cause });
  const { parse } = await import("../../../util/yaml.js");
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    throw misread(cause);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw misread();
  return Object.fromEntries(Object.entries(value).map(([step, choice]) => [step, String(choice)]));
}
