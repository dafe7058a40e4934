import type { LabSummary } from "../../../lab/labs/format/library.js";
import { betterExam, type ExamResult, mostPointsOf, pointsOf, resultOf } from "../../../lab/labs/progress/result.js";
import type { Clock } from "../../../util/clock.js";
import { defined } from "../../../util/defined.js";
import type { LearnContext } from "../context.js";

const MINUTE_MS = 60_000;

/** The time of an exam, on the wall clock: without hints, without "show me", and with an end. */
export class ExamTime implements Disposable {
  readonly #over = new AbortController();
  readonly #stop = new AbortController();
  readonly #startMs: number;

  constructor(
    readonly wall: Clock,
    readonly minutes: number,
  ) {
    this.#startMs = wall.now();
    wall.sleep(minutes * MINUTE_MS, this.#stop.signal).then(
      () => this.#over.abort(new DOMException("the exam is over", "AbortError")),
      () => undefined,
    );
  }

  /** aborts when the time is over */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** whole minutes that are left, rounded up */
  get leftMinutes(): number {
    return Math.ceil(Math.max(0, this.minutes * MINUTE_MS - this.usedMs) / MINUTE_MS);
  }

  get usedMs(): number {
    return Math.min(this.wall.now() - this.#startMs, this.minutes * MINUTE_MS);
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }
}

/** Reports the result of an exam that is over, and saves it unless an earlier one was as good. An exam that is not finished ends with exit code 1. */
export async function endExam(env: LearnContext, lab: LabSummary, time: ExamTime): Promise<void> {
  const { store, say, context } = env;
  const run = await store.of(lab);
  if (run === undefined) return;
  const isFinished = run.finishedAtMs !== undefined;
  const exam: ExamResult = {
    atMs: store.wall.now(),
    minutes: time.minutes,
    usedMs: time.usedMs,
    points: pointsOf(resultOf(lab, run)),
    mostPoints: mostPointsOf(lab),
    isFinished,
  };
  await store.change(lab.id, (before) => before && { ...before, ...defined({ exam: betterExam(before.exam, exam) }) });
  context.streams.stderr.write(`\n${examInWords(exam, env.say)}\n`);
  if (!isFinished) {
    const open = lab.steps.length - run.done.length;
    context.streams.stderr.write(`${say("examUnfinished", { open, count: lab.steps.length })}\n`);
    context.exitWith(1);
  }
}

/** `Exam: 30 of 50 points, 7 of 12 min used.` */
export function examInWords({ points, mostPoints, usedMs, minutes }: ExamResult, say: LearnContext["say"]): string {
  return say("examResult", { points, most: mostPoints, used: Math.ceil(usedMs / MINUTE_MS), minutes });
}
