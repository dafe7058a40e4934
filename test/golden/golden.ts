import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Recorded from the real kubelet, beside the checkout where it is at all. */
export const GOLDEN = "../shared/golden";

/** Why a test that needs the golden data is skipped; undefined: it is there. */
export const MISSING_GOLDEN: string | undefined = existsSync(join(GOLDEN, "README.md"))
  ? undefined
  : `${GOLDEN} is missing`;

/** One line of a golden file, read as far as every area has it. */
export interface GoldenLine {
  readonly name: string;
  readonly [field: string]: unknown;
}

/** The scenarios or table rows of one file; none when it is missing. @throws SyntaxError that names a line which is no JSON */
export function goldenLines<T extends GoldenLine>(path: string): readonly T[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.flatMap((line, i) => (line.trim() === "" ? [] : [parseLine<T>(line, `${path}:${i + 1}`)]));
}

function parseLine<T>(line: string, place: string): T {
  try {
    return JSON.parse(line) as T;
  } catch (cause) {
    throw new SyntaxError(`${place}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/**
 * Compares by the rules of the golden data: a missing key, null, an empty list and an empty object mean the same, a missing
 * boolean is false, key order does not matter. @param path where we are, for the messages
 */
export function differences(want: unknown, got: unknown, path: string): string[] {
  if (isNothing(want) && isNothing(got)) return [];
  if (Array.isArray(want) && Array.isArray(got) && want.length === got.length) {
    return want.flatMap((item, i) => differences(item, got[i], `${path}[${i}]`));
  }
  if (isMap(want) && isMap(got)) {
    const keys = new Set([...Object.keys(want), ...Object.keys(got)]);
    return [...keys].flatMap((key) => differences(want[key], got[key], `${path}.${key}`));
  }
  return Object.is(want, got) ? [] : [`${path}: want ${JSON.stringify(want)}, got ${JSON.stringify(got)}`];
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
