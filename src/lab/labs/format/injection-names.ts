import type { Say } from "../../../util/i18n/catalogue.js";
import { type ArgumentKind, INJECTIONS } from "./injection-table.js";

/** The problems of an injection. Variables have no values yet, so a text with a variable counts as a number. */
export function injectionProblems(name: string, given: Readonly<Record<string, unknown>>, say: Say): readonly string[] {
  const wanted = INJECTIONS[name]?.takes;
  if (wanted === undefined) {
    return [say("injectUnknown", { name, names: Object.keys(INJECTIONS).join(", ") })];
  }
  const problems: string[] = [];
  for (const [key, kind] of Object.entries(wanted)) {
    const value = given[key];
    if (value === undefined && typeof kind === "string" && kind.endsWith("!"))
      problems.push(say("injectNeeds", { name, key }));
    if (value !== undefined && !fits(value, kind)) {
      problems.push(say("injectExpected", { name, key, value: JSON.stringify(value), kind: wordsOf(kind) }));
    }
  }
  for (const key of Object.keys(given)) {
    if (wanted[key] === undefined) {
      problems.push(say("injectTakesNo", { name, key, names: Object.keys(wanted).join(", ") }));
    }
  }
  return problems;
}

function wordsOf(kind: ArgumentKind): string {
  if (typeof kind === "string") return kind.replace("!", "");
  return "least" in kind ? `number from ${kind.least} to ${kind.most}` : kind.join(" | ");
}

function fits(value: unknown, kind: ArgumentKind): boolean {
  if (kind === "flag") return typeof value === "boolean";
  if (String(value).includes("{{")) return true;
  if (typeof kind !== "string") {
    if (!("least" in kind)) return kind.some((one) => one === value);
    return Number.isInteger(Number(value)) && Number(value) >= kind.least && Number(value) <= kind.most;
  }
  return kind.startsWith("number") ? Number.isFinite(Number(value)) : typeof value === "string";
}
