import type { Language } from "../../util/i18n/language.js";
import { type Failure, GOLDEN_STAGE, type Verdict } from "./judge.js";
import type { Wrong } from "./runner/messages.js";
import type { GoldenCases, Task } from "./task.js";
import { WORDS } from "./words.js";

/** The limit that a sentence names; the process is ended by the same one. */
const PATIENCE_S = 4;

/** The first thing that is wrong, as the author's sentence and the case; undefined: nothing is. */
export function wrongText(
  { task, golden }: { readonly task: Task; readonly golden: GoldenCases | undefined },
  { wrong, failure }: Pick<Verdict, "wrong" | "failure">,
  place: string,
  language: Language,
): readonly string[] | undefined {
  if (wrong !== undefined) return [ruleOf(task, golden, wrong, language), ...caseLines(wrong, language)];
  return failure === undefined ? undefined : failureLines(failure, place, language);
}

/** The sentence that the case belongs to. */
function ruleOf(task: Task, golden: GoldenCases | undefined, wrong: Wrong, language: Language): string {
  if (wrong.stage === GOLDEN_STAGE) {
    return WORDS[language].golden(wrong.number, golden?.cases.length ?? 0, golden?.release ?? "");
  }
  const checks = task.stages.find(({ id }) => id === wrong.stage)?.checks;
  return checks?.find(({ id }) => id === wrong.check)?.says[language] ?? "";
}

function caseLines({ calls, given = [], want, got }: Wrong, language: Language): readonly string[] {
  const words = WORDS[language];
  const call = calls.at(-1) ?? "";
  const before = calls.slice(0, -1);
  const lead = before.length === 0 ? [] : [`  ${words.after(before.join(", "))}`];
  const answers = given.length === 0 ? [] : [`  ${words.given(given.join(", "))}`];
  return [...lead, ...answers, ...words.differs(call, want, got).map((line) => `  ${line}`)];
}

function failureLines(failure: Failure, place: string, language: Language): readonly string[] {
  const words = WORDS[language];
  if (failure.kind === "unloadable") {
    const at = failure.at === undefined ? place : `${place}:${failure.at}`;
    return [
      words.unloadable(failure.text, at),
      ...(failure.source ? [`  ${failure.source}`] : []),
      ...(failure.hasType === true ? [words.typeInFile] : []),
    ];
  }
  if (!("calls" in failure)) return [failure.kind === "absent" ? words.absent(place) : words.neverLoads(place)];
  const call = failure.calls.at(-1) ?? place;
  if (failure.kind === "exits") return [words.exits(call, String(failure.exitCode ?? "?"))];
  if (failure.kind === "disturbed") return [words.disturbed(call)];
  return [failure.kind === "too-slow" ? words.tooSlow(call, PATIENCE_S) : words.outOfMemory(call)];
}
