import type { LabOptions } from "../../../lab/labs/environment/context.js";
import type { RealTarget } from "../../../lab/labs/environment/own/cluster.js";
import { parseFactor, speedByKey } from "../../../lab/labs/environment/speed.js";
import { type LabSummary, wordFor } from "../../../lab/labs/format/library.js";
import { HINT_PRICE } from "../../../lab/labs/progress/result.js";
import { LabBroken } from "../../../lab/labs/session/actions.js";
import type { LabMessage } from "../../../lab/labs/session/message.js";
import { type OpenSession, openSession } from "../../../lab/labs/session/open-session.js";
import { writePicture } from "../../../lab/labs/session/picture.js";
import type { LabSession } from "../../../lab/labs/session/session.js";
import { isAbortError, LabError } from "../../../util/errors.js";
import type { MessageKey } from "../../../util/i18n/catalogue.js";
import { localized } from "../../../util/i18n/message-error.js";
import { wrap } from "../../../util/text/text-width.js";
import { withKeys } from "../../cli/terminal-keys.js";
import { edgeWords, type LearnContext } from "../context.js";
import { ExamTime, endExam } from "./exam.js";
import { presentLab } from "./live.js";
import { showPage } from "./page.js";
import { askText, type Choice, choose, isPlain, quitKey } from "./prompt.js";
import { LabReporter } from "./reporter.js";
import { resumeLines } from "./resume.js";

export interface InteractiveOptions extends LabOptions {
  readonly real?: RealTarget;
  /** without hints, and with a time limit in minutes; true: the lab's own */
  readonly exam?: number | true;
  /** from the first step, whatever was done before; always so in an exam */
  readonly isAnew?: boolean;
}

/**
 * Runs a lab step by step. Its messages go to stderr with the prompts, because stdout is for results.
 * @returns whether the learner finished the lab
 */
export async function runLab(env: LearnContext, lab: LabSummary, options: InteractiveOptions): Promise<boolean> {
  const { context, say, store } = env;
  const isExam = options.exam !== undefined;
  try {
    const isFinished = await playLab(env, lab, options);
    if (!isFinished && !isExam) context.streams.stderr.write(`\n${await wordsOnLeaving(env, lab)}\n`);
    return isFinished;
  } catch (error) {
    // Ctrl-C leaves the lab as its menu does. An exam has printed its result.
    const isOpen = (await store.of(lab))?.finishedAtMs === undefined;
    if (!isExam && isOpen) {
      const words = edgeWords(say);
      context.useWords({ ...words, interrupted: `${words.interrupted}\n${await wordsOnLeaving(env, lab)}` });
    }
    throw error;
  }
}

/** The progress of the lab, and the command that continues it. */
async function wordsOnLeaving({ say, store, columns }: LearnContext, lab: LabSummary): Promise<string> {
  const done = (await store.of(lab))?.done.length ?? 0;
  return wrap(say("left", { done, count: lab.steps.length, id: wordFor(lab) }), columns).join("\n");
}

async function playLab(env: LearnContext, lab: LabSummary, options: InteractiveOptions): Promise<boolean> {
  const { context, say, store } = env;
  if (options.exam === undefined && options.real === undefined) {
    for (const line of resumeLines(lab, await store.of(lab), options.kubeVersion, say)) env.notice(line);
  }
  let preparing = context.progress(say("preparing"));
  let isPrepared = false;
  const reporter = new LabReporter(env, "stderr");
  const onMessage = (message: LabMessage) => {
    preparing.stop();
    // The prompt shows the choices.
    if (message.kind !== "question") reporter.tell(options.exam === undefined ? message : withoutHelp(message));
    // After the heading and after each wait, the lab still replays steps that the learner has done.
    if (!isPrepared && message.kind !== "waiting") preparing = context.progress(say("preparing"));
  };
  const onRepeat = (index: number, count: number) => {
    reporter.stop();
    preparing.stop();
    preparing = context.progress(say("repeating", { index, count }));
  };
  const sink = context.ui;
  const isAnew = options.isAnew ?? options.exam !== undefined;
  const opening = (signal: AbortSignal) =>
    openSession(env, lab, { ...options, isAnew, onMessage, onRepeat, sink, signal });
  // On the learner's own cluster, the opening asks.
  const isSilent = options.real === undefined && !isPlain(env);
  const opened = isSilent ? withKeys(context.streams, context.signal, opening) : opening(context.signal);
  await using open = await opened.finally(() => {
    isPrepared = true;
    reporter.stop();
    preparing.stop();
  });
  await using _page = presentLab(env, open);
  const minutes = options.exam === true ? lab.minutes : options.exam;
  using exam = minutes === undefined ? undefined : new ExamTime(env.wall, minutes);
  if (exam !== undefined) env.notice(say("examBegins", { minutes: exam.minutes }));
  let interruption: unknown;
  try {
    while (open.session.step !== undefined) {
      open.session.present();
      const { session, environment } = open;
      reporter.keys = { speed: environment.canSetSpeed ? say("speedKeys") : "", stop: say("waitKeys") };
      if (!(await runStep(env, { session, environment, reporter, exam }))) break;
    }
  } catch (error) {
    if (exam === undefined) throw error;
    // Ctrl-C hands an exam in, so that it always has a result.
    if (!exam.signal.aborted || context.signal.aborted) interruption = error;
    else env.notice(`\n${say("examOver")}`);
  } finally {
    reporter.stop();
    await open.written();
  }
  if (exam !== undefined) await endExam(env, lab, exam);
  if (interruption !== undefined) throw interruption;
  return open.session.step === undefined;
}

/** An exam reports that an answer is wrong, but not why. */
function withoutHelp(message: LabMessage): LabMessage {
  if (message.kind !== "verdict" && message.kind !== "answer") return message;
  const { mistake: _, ...unexplained } = message;
  return unexplained;
}

interface Stage extends Pick<OpenSession, "session" | "environment"> {
  readonly reporter: LabReporter;
  readonly exam: ExamTime | undefined;
}

/** @returns false: the learner leaves */
async function runStep(env: LearnContext, open: Stage): Promise<boolean> {
  const { session } = open;
  let hasTried = false;
  for (;;) {
    const { step } = session;
    if (step === undefined) return true;
    env.context.streams.stderr.write("\n");
    const isQuestion = "predict" in step;
    const choices = isQuestion ? predictions(env, open) : actions(env, open, hasTried);
    const keys = [
      { key: "p", value: PAGE, help: env.say("pageKey") },
      // One stray key must not end an exam.
      ...(open.exam === undefined ? [quitKey(env, LEAVE)] : []),
    ];
    const isIncident = session.definition.kind === "incident";
    const question = env.say(isQuestion ? (isIncident ? "predictIncident" : "predictFirst") : "pressWhat");
    const left = open.exam && env.say("examLeft", { minutes: open.exam.leftMinutes });
    const answer = await choose(
      env,
      left === undefined ? question : `${question} ${left}`,
      choices,
      keys,
      open.exam?.signal,
    );
    switch (answer) {
      case LEAVE:
        return false;
      case SPEED:
        await askSpeed(env, open);
        break;
      case PAGE:
        await showPicture(env, session);
        break;
      case HINT:
        // After the last hint this prints nothing, because the prompt's row already shows the end.
        session.hint();
        break;
      case LOOK:
      case WAIT:
        if (await attempt(env, open, (signal) => session.look(answer === WAIT, signal))) return true;
        hasTried = true;
        break;
      case SOLVE:
        if (await attempt(env, open, (signal) => solveAndPerform(env, session, signal))) return true;
        hasTried = true;
        break;
      default:
        if (await attempt(env, open, (signal) => session.perform(isQuestion ? answer : undefined, signal))) return true;
        hasTried = true;
    }
  }
}

/** A solution assumes the state at the step's start; the learner's later changes can block it. */
async function solveAndPerform(env: LearnContext, session: LabSession, signal: AbortSignal): Promise<boolean> {
  try {
    return (await session.solve(signal)) && (await session.perform(undefined, signal));
  } catch (error) {
    if (!(error instanceof LabBroken)) throw error;
    const { id } = session.definition;
    const { stderr } = env.context.streams;
    // Its output is above.
    const [what = ""] = error.message.split("\n");
    const lines = [what, env.say("solutionInTheWay", { id })].flatMap((text) => wrap(text, env.columns));
    stderr.write(`\n${lines.join("\n")}\n`);
    return false;
  }
}

/** Runs `body`, which may wait. Meanwhile keys change the speed of time or end the wait. */
async function attempt(
  env: LearnContext,
  { session, environment, reporter, exam }: Stage,
  body: (signal: AbortSignal) => Promise<boolean>,
): Promise<boolean> {
  const { streams } = env.context;
  const signal = exam === undefined ? env.context.signal : AbortSignal.any([env.context.signal, exam.signal]);
  if (isPlain(env)) return body(signal);
  const press = async (key: string) => {
    if (key === ESC) return session.stopWaiting();
    const factor = await speedByKey(key, environment).catch((error: unknown) => tell(env, error));
    if (factor === undefined) return;
    reporter.stop();
    streams.stderr.write(`${env.say("speedNow", { factor })}\n`);
  };
  return withKeys(streams, signal, body, press);
}

async function showPicture(env: LearnContext, session: LabSession): Promise<void> {
  try {
    showPage(env, "stderr", await writePicture(env, session.definition.id, session.picture()));
  } catch (error) {
    tell(env, error);
  }
}

async function askSpeed(env: LearnContext, { environment }: Stage): Promise<void> {
  try {
    const factor = parseFactor(await askText(env, env.say("askSpeed"), String(environment.speed)), env.say);
    await environment.setSpeed(factor);
    env.context.streams.stderr.write(`${env.say("speedNow", { factor })}\n`);
  } catch (error) {
    tell(env, error);
  }
}

/** Prints an error that the learner can fix by trying again, and throws others. */
function tell(env: LearnContext, thrown: unknown): undefined {
  const error = localized(thrown, env.say);
  if (!(error instanceof LabError) || isAbortError(error)) throw error;
  env.context.streams.stderr.write(`${error.message}\n`);
  return undefined;
}

// Choices of predictions begin with a letter or a digit.
const LEAVE = ".leave";
const SPEED = ".speed";
const PAGE = ".page";
const HINT = ".hint";
const SOLVE = ".solve";
const LOOK = ".look";
const WAIT = ".wait";

const ESC = "\u001b";

function predictions(env: LearnContext, { session, environment, exam }: Stage): Choice[] {
  const answers = session.choices().map(({ key, text }) => ({ value: key, name: text.replaceAll("`", "") }));
  return [...answers, ...always(env, environment.canSetSpeed, exam)];
}

/** @param hasTried a check has failed and may still succeed */
function actions(env: LearnContext, { session, environment, exam }: Stage, hasTried: boolean): Choice[] {
  const { say } = env;
  const { step, hasHints, hasHint, isSolvable, isNoticed, isLookedAt, mayTakeMs } = session;
  const seconds = Math.ceil(mayTakeMs / 1000);
  const isElsewhere = step !== undefined && "do" in step && step.where === "elsewhere";
  const main: MessageKey =
    step === undefined || !("do" in step || "check" in step)
      ? "actionNext"
      : "check" in step
        ? "actionCheck"
        : isElsewhere
          ? "actionDone"
          : "actionRun";
  return [
    { value: isLookedAt ? LOOK : "go", name: say(main) },
    ...(hasTried && seconds > 0 ? [{ value: WAIT, name: say("actionWait", { seconds }) }] : []),
    ...(isNoticed ? [{ value: LOOK, name: say("actionDoneElsewhere") }] : []),
    // The row stays after the last hint, so that the same keys do not choose the solution below it.
    ...(hasHints && exam === undefined
      ? [{ value: HINT, name: hasHint ? say("actionHint", { price: HINT_PRICE }) : say("actionNoHint") }]
      : []),
    ...(isSolvable && (exam === undefined || isElsewhere)
      ? [{ value: SOLVE, name: say(isElsewhere ? "actionRunHere" : "actionSolution") }]
      : []),
    ...always(env, environment.canSetSpeed, exam),
  ];
}

function always({ say }: LearnContext, canSetSpeed: boolean, exam: ExamTime | undefined): Choice[] {
  return [
    { value: PAGE, name: say("actionPage") },
    ...(canSetSpeed ? [{ value: SPEED, name: say("actionSpeed") }] : []),
    { value: LEAVE, name: say(exam === undefined ? "actionLeave" : "actionHandIn") },
  ];
}
