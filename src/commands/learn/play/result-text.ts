import type { LabSummary } from "../../../lab/labs/format/library.js";
import { HINT_PRICE, type LabResult, mostPointsOf, pointsOf } from "../../../lab/labs/progress/result.js";
import { alignedLines } from "../../../trace/terminal/table.js";
import type { Say } from "../../../util/i18n/catalogue.js";

/** `46 of 50 points` */
export function pointsInWords(lab: LabSummary, result: LabResult, say: Say): string {
  return say("points", { points: pointsOf(result), most: mostPointsOf(lab) });
}

/**
 * The result of a run, as lines. Empty for a lab without questions and goals.
 * @param best the best result of all runs, which is named if this run is worse
 */
export function resultLines(lab: LabSummary, result: LabResult, best: LabResult | undefined, say: Say): string[] {
  if (mostPointsOf(lab) === 0) return [];
  const { rightPredictions, hints, solved, shown } = result;
  const rows = [
    [say("resultPredictions"), say("resultRight", { right: rightPredictions, count: lab.predictions.length })],
    [say("resultTasks"), say(shown === 0 ? "resultSolved" : "resultShown", { solved, shown, count: lab.tasks.length })],
    [say("resultHints"), hints === 0 ? say("resultNoHints") : say("resultHintsCost", { hints, price: HINT_PRICE })],
  ];
  const isPoorer = best !== undefined && pointsOf(best) > pointsOf(result);
  return [
    say("result", { points: pointsInWords(lab, result, say) }),
    ...alignedLines(rows).map((line) => `  ${line}`),
    ...(isPoorer ? [say("resultBest", { points: pointsOf(best) })] : []),
  ];
}
