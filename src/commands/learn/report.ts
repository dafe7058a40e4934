import type { LabSummary } from "../../lab/labs/format/library.js";
import { type Progress, progressIn } from "../../lab/labs/progress/progress.js";
import { type LabResult, mostPointsOf, pointsOf, resultOf } from "../../lab/labs/progress/result.js";
import { dateAt, streakAt } from "../../lab/labs/progress/today.js";
import { alignedLines, wrappedTable } from "../../trace/terminal/table.js";
import type { Say } from "../../util/i18n/catalogue.js";
import { junitXml } from "../../util/text/junit.js";
import { textWidth, wrap } from "../../util/text/text-width.js";
import { examInWords } from "./play/exam.js";
import { standingIn, standingInWords } from "./standing.js";

const MINUTE_MS = 60_000;

/** The result that counts: the best finished run, else the current run. */
function countedResult(lab: LabSummary, progress: Progress): LabResult | undefined {
  const found = progressIn(lab, progress);
  return found && (found.best ?? resultOf(lab, found));
}

const COLUMNS = [
  "columnNumber",
  "columnId",
  "columnProgress",
  "columnPoints",
  "columnPredictions",
  "columnSolved",
  "columnShown",
  "columnHints",
] as const;

/**
 * The labs that were begun, in words: what was solved, and what was only shown.
 * @param options columns of the terminal, default: lines are whole; nowMs in Unix ms
 */
export function wordReport(
  labs: readonly LabSummary[],
  progress: Progress,
  say: Say,
  { columns, nowMs }: { readonly columns?: number; readonly nowMs: number },
): string {
  const begun = labs.flatMap((lab) => {
    const result = countedResult(lab, progress);
    return result === undefined ? [] : [{ lab, result }];
  });
  const rows = begun.map(({ lab, result }) => [
    lab.number,
    lab.id,
    standingInWords(lab, progress, say),
    `${pointsOf(result)}/${mostPointsOf(lab)}`,
    `${result.rightPredictions}/${lab.predictions.length}`,
    `${result.solved}/${lab.tasks.length}`,
    String(result.shown),
    String(result.hints),
  ]);
  const heads = COLUMNS.map((key) => say(key));
  const lines = (text: string) => (columns === undefined || textWidth(text) <= columns ? [text] : wrap(text, columns));
  const table =
    columns === undefined ? alignedLines([heads, ...rows]) : wrappedTable({ columns: heads, rows }, columns);
  const done = labs.filter((lab) => standingIn(lab, progress).state === "done").length;
  const shown = begun.reduce((sum, { result }) => sum + result.shown, 0);
  const sentences = [
    ...todayLine(progress, nowMs, say),
    ...begun.flatMap(({ lab }) => examLine(lab, progress, say)),
    ...(shown === 0 ? [] : [say("reportShown", { shown })]),
    ...(begun.length === 0 ? [say("reportNone")] : [say("reportNotBegun", { count: labs.length - begun.length })]),
  ];
  return [
    say("reportDone", { done, count: labs.length }),
    ...(begun.length === 0 ? [] : ["", ...table, ""]),
    ...sentences.flatMap(lines),
  ].join("\n");
}

/** The line about daily incidents, and the total time of finished runs. */
function todayLine(progress: Progress, nowMs: number, say: Say): string[] {
  const results = progress.today ?? {};
  const done = Object.values(results).filter(({ finishedAtMs }) => finishedAtMs !== undefined).length;
  const minutes = Math.round(timeMs(progress) / MINUTE_MS);
  return [
    ...(minutes === 0 ? [] : [say("reportTime", { minutes })]),
    ...(done === 0 ? [] : [say("reportToday", { done, streak: streakAt(dateAt(nowMs), results) })]),
  ];
}

/** From the start to the end of each lab's last finished run, pauses included. */
function timeMs({ labs }: Progress): number {
  return Object.values(labs).reduce(
    (sum, { startedAtMs, finishedAtMs = 0 }) => sum + Math.max(0, finishedAtMs - startedAtMs),
    0,
  );
}

function examLine(lab: LabSummary, { labs }: Progress, say: Say): string[] {
  const exam = labs[lab.id]?.exam;
  return exam === undefined ? [] : [`${lab.id}: ${examInWords(exam, say)}`];
}

/** The report for a teacher: one entry per lab. */
export function jsonReport(labs: readonly LabSummary[], progress: Progress): Readonly<Record<string, unknown>> {
  return {
    version: 1,
    labs: labs.map((lab) => {
      const { state, done } = standingIn(lab, progress);
      const found = progressIn(lab, progress);
      const run = found && resultOf(lab, found);
      return {
        id: lab.id,
        number: lab.number,
        title: lab.title.en,
        state,
        stepsDone: done,
        steps: lab.steps.length,
        hints: found?.hints ?? 0,
        rightPredictions: found?.rightPredictions ?? 0,
        wrongPredictions: found?.wrongPredictions ?? 0,
        tasks: lab.tasks.length,
        tasksSolved: run?.solved ?? 0,
        tasksShown: run?.shown ?? 0,
        points: run === undefined ? 0 : pointsOf(run),
        mostPoints: mostPointsOf(lab),
        exam: found?.exam ?? null,
        bestPoints: found?.best === undefined ? null : pointsOf(found.best),
        startedAt: found === undefined ? null : new Date(found.startedAtMs).toISOString(),
        finishedAt: found?.finishedAtMs === undefined ? null : new Date(found.finishedAtMs).toISOString(),
      };
    }),
  };
}

/** As JUnit's XML: a lab is a suite, a step a test case; an open step is skipped, and a wrong prediction is a failure. */
export function junitReport(labs: readonly LabSummary[], progress: Progress): string {
  return junitXml(
    labs.map((lab) => {
      const run = progressIn(lab, progress);
      const cases = lab.steps.map((name) => ({
        group: lab.id,
        name,
        ...(run?.wrong?.includes(name) ? { failure: "wrong prediction" } : { isSkipped: !run?.done.includes(name) }),
      }));
      return { name: `${lab.number} ${lab.title.en}`, cases };
    }),
  );
}
