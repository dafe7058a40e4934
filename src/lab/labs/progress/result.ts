import { isRecord } from "../../../util/records.js";
import type { LabSummary } from "../format/library.js";

/** The work of a learner in one run of a lab. */
export interface LabRun {
  /** ids of the finished steps, in order */
  readonly done: readonly string[];
  readonly hints: number;
  readonly rightPredictions: number;
  readonly wrongPredictions: number;
  /** ids of the tasks that kubelab solved, at the learner's wish or with --yes */
  readonly shown?: readonly string[];
  /** ids of the predictions that were answered wrongly */
  readonly wrong?: readonly string[];
  /** Unix ms; undefined: not finished */
  readonly finishedAtMs?: number;
  /** the best result of all runs that were finished */
  readonly best?: LabResult;
}

/** The result of a lab. A solution that was only shown does not count as solved. */
export interface LabResult {
  readonly rightPredictions: number;
  readonly wrongPredictions: number;
  readonly hints: number;
  /** tasks that the learner solved */
  readonly solved: number;
  /** tasks that kubelab solved */
  readonly shown: number;
  /** Unix ms; undefined: not finished */
  readonly finishedAtMs?: number;
}

/** The result of an exam: a run without hints, in a limited time. */
export interface ExamResult {
  /** Unix ms of its end */
  readonly atMs: number;
  /** its time limit */
  readonly minutes: number;
  readonly usedMs: number;
  readonly points: number;
  readonly mostPoints: number;
  readonly isFinished: boolean;
}

/** Points of a right prediction, and of a task that the learner solved. */
const POINTS = 10;
/** Points that a hint costs. */
export const HINT_PRICE = 2;

/** The result of a lab up to now. Pure. */
export function resultOf({ tasks }: Pick<LabSummary, "tasks">, run: LabRun): LabResult {
  const { rightPredictions, wrongPredictions, hints, shown = [], done, finishedAtMs } = run;
  const finished = tasks.filter((task) => done.includes(task));
  const solved = finished.filter((task) => !shown.includes(task)).length;
  const common = { rightPredictions, wrongPredictions, hints, solved, shown: finished.length - solved };
  return finishedAtMs === undefined ? common : { ...common, finishedAtMs };
}

/** The best result of a lab; undefined if it was never finished. Pure. */
export function bestResult(lab: Pick<LabSummary, "tasks">, run: LabRun | undefined): LabResult | undefined {
  if (run === undefined) return undefined;
  return betterOf(run.best, run.finishedAtMs === undefined ? undefined : resultOf(lab, run));
}

/** The result with more points; of two equal ones the first. Pure. */
export function betterOf(first: LabResult | undefined, second: LabResult | undefined): LabResult | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return pointsOf(second) > pointsOf(first) ? second : first;
}

/** The exam with more points; of two equal ones the first. Pure. */
export function betterExam(first: ExamResult | undefined, second: ExamResult | undefined): ExamResult | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return second.points > first.points ? second : first;
}

export function pointsOf({ rightPredictions, solved, hints }: LabResult): number {
  return Math.max(0, (rightPredictions + solved) * POINTS - hints * HINT_PRICE);
}

export function mostPointsOf({ predictions, tasks }: Pick<LabSummary, "predictions" | "tasks">): number {
  return (predictions.length + tasks.length) * POINTS;
}

/** Whether a value from a progress file is the result of an exam. */
export function isExamResult(value: unknown): value is ExamResult {
  if (!isRecord(value)) return false;
  const { atMs, minutes, usedMs, points, mostPoints, isFinished } = value;
  return [atMs, minutes, usedMs, points, mostPoints].every(Number.isFinite) && typeof isFinished === "boolean";
}

/** Whether a value from a progress file is a result. */
export function isLabResult(value: unknown): value is LabResult {
  if (!isRecord(value)) return false;
  const { rightPredictions, wrongPredictions, hints, solved, shown, finishedAtMs } = value;
  return [rightPredictions, wrongPredictions, hints, solved, shown, finishedAtMs].every(Number.isFinite);
}
