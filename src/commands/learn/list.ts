import { textWidth } from "../../cli/text-width.js";
import type { Language, Say } from "../../i18n/catalogue.js";
import type { LabSummary } from "../../labs/library.js";
import type { Progress } from "../../labs/progress.js";

export type LabState = "not-begun" | "begun" | "done";

export interface LabStanding {
  readonly state: LabState;
  readonly done: number;
}

/** How far a learner is, if what was done is of the lab as it is now. */
export function standingIn({ id, revision, steps }: LabSummary, { labs }: Progress): LabStanding {
  const found = labs[id];
  if (found === undefined || found.revision !== revision) return { state: "not-begun", done: 0 };
  const done = steps.filter((step) => found.done.includes(step)).length;
  return { state: done === steps.length ? "done" : "begun", done };
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
  const all = [keys.map((key) => say(key)), ...rows];
  const widths = keys.map((_, i) => Math.max(...all.map((row) => textWidth(row[i] ?? ""))));
  return all
    .map((row) => row.map((cell, i) => cell + " ".repeat((widths[i] ?? 0) - textWidth(cell))).join("  "))
    .map((line) => cut(line.trimEnd()))
    .join("\n");
}
