import type { Say } from "../../../util/i18n/catalogue.js";
import type { Verdict } from "../checks/leaf-check.js";
import type { LabMessage } from "./message.js";

type VerdictWords = Omit<LabMessage & { kind: "verdict" }, "kind">;

/**
 * A verdict for the learner: the author's sentence for the goal, or an empty text, replaces texts that only describe a
 * command or a pattern. Pure.
 * @param goal "": the author has written no sentence
 */
export function verdictInWords(verdict: Verdict, goal: string, say: Say): VerdictWords {
  const { ok, isRaw = false, isPrinted = false } = verdict;
  // A line that a command has printed is shown as evidence.
  const seen = isRaw || isPrinted ? "" : verdict.seen;
  if (ok) return { ok, seen: goal === "" ? seen : goal };
  const { want, isRawWant = false } = verdict;
  const raw = `wants ${want}, sees ${verdict.seen}`;
  return { ok, seen, want: goal !== "" ? goal : isRawWant ? say("wantAsDescribed") : want, raw };
}
