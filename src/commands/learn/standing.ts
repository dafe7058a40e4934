import type { LabSummary } from "../../lab/labs/format/library.js";
import { type Progress, progressIn } from "../../lab/labs/progress/progress.js";
import { alignedLines } from "../../trace/terminal/table.js";
import type { Say } from "../../util/i18n/catalogue.js";
import type { Language } from "../../util/i18n/language.js";

export type LabState = "not-begun" | "begun" | "done";

export interface LabStanding {
  readonly state: LabState;
  readonly done: number;
}

/** The learner's progress, if it belongs to the lab's current version. A finished lab stays done. */
export function standingIn(lab: LabSummary, progress: Progress): LabStanding {
  const found = progressIn(lab, progress);
  if (found === undefined) return { state: "not-begun", done: 0 };
  const done = lab.steps.filter((step) => found.done.includes(step)).length;
  return { state: done === lab.steps.length || found.best !== undefined ? "done" : "begun", done };
}

/**
 * The lab to play next: the one that was begun last, else the first after `last` that is not done. Chapters come before incidents.
 * Pure.
 * @param last the lab that was finished just now
 * @returns undefined if all are done
 */
export function nextLab(
  labs: readonly LabSummary[],
  progress: Progress,
  last?: LabSummary,
  canPlay: (lab: LabSummary) => boolean = () => true,
): LabSummary | undefined {
  const open = labs.filter((lab) => standingIn(lab, progress).state !== "done" && canPlay(lab));
  const startedMs = ({ id }: LabSummary) => progress.labs[id]?.startedAtMs ?? 0;
  const begun = open
    .filter((lab) => standingIn(lab, progress).state === "begun")
    .toSorted((a, b) => startedMs(b) - startedMs(a));
  const after = last === undefined ? [] : labs.slice(labs.indexOf(last) + 1).filter((lab) => open.includes(lab));
  const [next] = last === undefined ? [...begun, ...open] : [...after, ...open];
  return next;
}

/** The minutes for the remaining steps, if all take equally long. Pure. @param done the number of steps done */
export function minutesLeft({ minutes, steps }: LabSummary, done: number): number {
  return Math.ceil((minutes * (steps.length - done)) / Math.max(1, steps.length));
}

export function standingInWords(lab: LabSummary, progress: Progress, say: Say): string {
  const { state, done } = standingIn(lab, progress);
  if (state === "done") return say("progressDone");
  return state === "begun" ? say("progressSome", { done, count: lab.steps.length }) : say("progressNone");
}

/**
 * All labs as a table; wide characters count as two columns.
 * @param cut makes lines fit a terminal; default: they are whole
 */
export function labTable(
  labs: readonly LabSummary[],
  progress: Progress,
  { language, say }: { readonly language: Language; readonly say: Say },
  cut: (line: string) => string = (line) => line,
): string {
  const rows = labs.map((lab) => [
    lab.number,
    lab.id,
    say("minutes", { count: lab.minutes }),
    standingInWords(lab, progress, say),
    lab.cluster === "any" ? say("ownYes") : "",
    lab.title[language],
  ]);
  const keys = ["columnNumber", "columnId", "columnTime", "columnProgress", "columnOwn", "columnTitle"] as const;
  return alignedLines([keys.map((key) => say(key)), ...rows])
    .map((line) => cut(line))
    .join("\n");
}
