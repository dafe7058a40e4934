import type { LabSummary } from "../../../lab/labs/format/library.js";
import type { LabProgress } from "../../../lab/labs/progress/progress.js";
import type { LearnContext } from "../context.js";
import { minutesLeft } from "../standing.js";

/**
 * The text of a resumed lab: what is done and left, and the release if it is not the lab's own. Pure.
 * @param kubeVersion of this start; it overrides the earlier start's
 * @returns no lines for a new lab
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
