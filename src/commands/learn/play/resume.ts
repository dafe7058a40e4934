import type { LabSummary } from "../../../lab/labs/format/library.js";
import type { LabProgress } from "../../../lab/labs/progress/progress.js";
import type { LearnContext } from "../context.js";
import { minutesLeft } from "../standing.js";

/**
 * What a learner reads when a lab goes on: how much is done and left, and the release if it is not the lab's own. Pure.
 * @param kubeVersion wanted with this start, which counts more than that of the one before
 * @returns none for a lab that begins
 */
export function resumeLines(
  lab: LabSummary,
  before: LabProgress | undefined,
  kubeVersion: string | undefined,
  say: LearnContext["say"],
): readonly string[] {
  if (before === undefined || before.finishedAtMs !== undefined) return [];
  const done = before.done.length;
  const release = kubeVersion === undefined ? before.kubeVersion : undefined;
  const words = { id: lab.id, done, count: lab.steps.length, minutes: minutesLeft(lab, done) };
  return [
    ...(done === 0 ? [] : [say("resumes", words)]),
    ...(release === undefined ? [] : [say("resumesRelease", { release })]),
  ];
}
