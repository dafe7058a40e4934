import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Check, CheckStep } from "./schema.js";

/** The file of the lab's folder in which a check looks for the learner's answer. Pure. */
export function answerFileOf(check: Check): string | undefined {
  if ("file" in check) return check.file;
  if ("command" in check) return check.answer;
  const members = "all" in check ? check.all : "any" in check ? check.any : [];
  for (const member of members) {
    const file = answerFileOf(member);
    if (file !== undefined) return file;
  }
  return undefined;
}

/**
 * Which of the mistakes that the author foresaw a learner has made: the first whose pattern is the whole answer, without space around
 * it and in any case.
 * @returns its id; undefined for another answer, or none
 */
export async function mistakeIn({ check, mistakes = {} }: CheckStep, folder: string): Promise<string | undefined> {
  const file = answerFileOf(check);
  if (file === undefined) return undefined;
  const answer = await readFile(join(folder, file), "utf8").catch(() => "");
  const made = Object.entries(mistakes).find(([, pattern]) => new RegExp(`^(?:${pattern})$`, "i").test(answer.trim()));
  return made?.[0];
}

/** Mistakes whose pattern is an answer as it stands, by id. Pure. */
export function literalMistakes({ mistakes = {} }: CheckStep): ReadonlyMap<string, string> {
  return new Map(Object.entries(mistakes).filter(([, pattern]) => !/[\\^$.*+?()[\]{}|]/.test(pattern)));
}
