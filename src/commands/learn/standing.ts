import type { LabSummary } from "../../lab/labs/format/library.js";
import { type Progress, progressIn } from "../../lab/labs/progress/progress.js";
import { alignedLines } from "../../trace/terminal/table.js";
import type { Say } from "../../util/i18n/catalogue.js";
import type { Language } from "../../util/i18n/language.js";
import { fitted, textWidth, wrap } from "../../util/text/text-width.js";

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

/** A terminal's width, and the mark at the end of a line that was cut. */
export interface Fit {
  readonly columns: number;
  readonly mark: string;
}

/** The columns that a table keeps for titles, if they need so many. */
const TITLE_ROOM = 30;

/**
 * Aligned lines of rows that end with a title.
 * @param fit makes lines fit a terminal; default: they are whole
 * @param lessNeeded the columns that give way to the titles, the first of them first
 * @returns also the columns that are left
 */
export function titleTable(
  rows: readonly (readonly string[])[],
  lessNeeded: readonly number[],
  fit?: Fit,
): { readonly lines: readonly string[]; readonly left: ReadonlySet<number> } {
  const left = new Set(rows[0]?.keys());
  const lines = () => alignedLines(rows.map((row) => row.filter((_, i) => left.has(i))));
  if (fit === undefined) return { lines: lines(), left };
  const longest = Math.max(...rows.map((row) => textWidth(row.at(-1) ?? "")));
  const isNarrow = () => Math.max(...lines().map(textWidth)) > fit.columns + Math.max(0, longest - TITLE_ROOM);
  for (const column of lessNeeded) if (isNarrow()) left.delete(column);
  return { lines: lines().map((line) => fitted(line, fit.columns, fit.mark)), left };
}

/** All labs as a table, and what its column OWN means; wide characters count as two columns. @param fit as in `titleTable` */
export function labTable(
  labs: readonly LabSummary[],
  progress: Progress,
  { language, say }: { readonly language: Language; readonly say: Say },
  fit?: Fit,
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
  const [time, own] = [2, 4];
  const { lines, left } = titleTable([keys.map((key) => say(key)), ...rows], [own, time], fit);
  const meaning = fit === undefined ? [say("ownMeans")] : wrap(say("ownMeans"), fit.columns);
  return [...lines, ...(left.has(own) ? ["", ...meaning] : [])].join("\n");
}
