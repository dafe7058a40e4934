import type { LabOptions } from "../../../lab/labs/environment/context.js";
import type { RealTarget } from "../../../lab/labs/environment/own/cluster.js";
import { type LabSummary, wordFor } from "../../../lab/labs/format/library.js";
import type { LabMessage } from "../../../lab/labs/session/message.js";
import { openSession } from "../../../lab/labs/session/open-session.js";
import { Speaker } from "../../../lab/labs/session/speaker.js";
import { TaskWatch } from "../../../lab/labs/session/task-watch.js";
import { Mutex } from "../../../util/async/mutex.js";
import { wrap } from "../../../util/text/text-width.js";
import { withKeys } from "../../cli/terminal-keys.js";
import { edgeWords, type LearnContext } from "../context.js";
import { ExamTime, endExam } from "./exam.js";
import type { LabPage } from "./lab-page.js";
import { presentLab } from "./live.js";
import { isPlain } from "./prompt.js";
import { LabReporter } from "./reporter.js";
import { resumeLines } from "./resume.js";
import { Stage } from "./stage.js";

export interface InteractiveOptions extends LabOptions {
  readonly real?: RealTarget;
  /** without hints, and with a time limit in minutes; true: the lab's own */
  readonly exam?: number | true;
  /** starts at the first step even if some are done; always true in an exam */
  readonly isAnew?: boolean;
  /** the second input of the lab's prompts */
  readonly page?: LabPage | undefined;
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
  const { page } = options;
  if (options.exam === undefined && options.real === undefined) {
    for (const line of resumeLines(lab, await store.of(lab), options.kubeVersion, say)) env.notice(line);
  }
  let preparing = context.progress(say("preparing"));
  let isPrepared = false;
  const reporter = new LabReporter(env, "stderr", options.exam === undefined);
  const helped = (message: LabMessage) => (options.exam === undefined ? message : withoutHelp(message));
  const speaker = new Speaker((message) => {
    // The prompt shows the choices.
    if (message.kind !== "question") reporter.tell(helped(message));
  });
  let watch: TaskWatch | undefined;
  const onMessage = (message: LabMessage) => {
    preparing.stop();
    speaker.emit(message);
    // A page shows it also while a shell has the terminal.
    page?.tell(helped(message));
    watch?.note(message);
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
  await using _page = presentLab(env, open, page);
  const minutes = options.exam === true ? lab.minutes : options.exam;
  using exam = minutes === undefined ? undefined : new ExamTime(env.wall, minutes);
  if (exam !== undefined) env.notice(say("examBegins", { minutes: exam.minutes }));
  let interruption: unknown;
  const turns = new Mutex();
  const stage = new Stage(env, { ...open, reporter, speaker, turns, exam, page });
  const end = new AbortController();
  const serving = stage.serve(end.signal);
  const suspend = async () => {
    await stage.suspend();
    return stage.doneNotice();
  };
  await using tasks = new TaskWatch(open.session, { random: context.random, turns, suspend });
  watch = tasks;
  try {
    await stage.play();
  } catch (error) {
    if (exam === undefined) throw error;
    // Ctrl-C hands an exam in, so that it always has a result.
    if (!exam.signal.aborted || context.signal.aborted) interruption = error;
    else env.notice(`\n${say("examOver")}`);
  } finally {
    reporter.stop();
    end.abort();
    await serving;
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
