import { join } from "node:path";
import { readRegularFile } from "../../../util/os/read-at-most.js";
import { isRecord } from "../../../util/records.js";
import type { CheckStep } from "./schema.js";

/** The file of the lab's folder in which a check looks for the learner's answer; the check may break the schema. Pure. */
export function answerFileOf(check: unknown): string | undefined {
  if (!isRecord(check)) return undefined;
  const { file, answer, all, any } = check;
  for (const name of [file, answer]) if (typeof name === "string") return name;
  const members = [all, any].flatMap((some) => (Array.isArray(some) ? some : []));
  return members.map(answerFileOf).find((one) => one !== undefined);
}

/**
 * Finds the learner's mistake among those that the author foresaw: the first whose pattern matches the whole trimmed
 * answer, in upper or lower case.
 * @returns its id; undefined for other answers
 */
export async function mistakeIn({ check, mistakes = {} }: CheckStep, folder: string): Promise<string | undefined> {
  const file = answerFileOf(check);
  if (file === undefined) return undefined;
  const answer = await readRegularFile(join(folder, file)).catch(() => "");
  const made = Object.entries(mistakes).find(([, pattern]) => new RegExp(`^(?:${pattern})$`, "i").test(answer.trim()));
  return made?.[0];
}

/** Mistakes whose pattern is a literal answer, by id. Pure. */
export function literalMistakes({ mistakes = {} }: CheckStep): ReadonlyMap<string, string> {
  return new Map(Object.entries(mistakes).filter(([, pattern]) => !/[\\^$.*+?()[\]{}|]/.test(pattern)));
}
