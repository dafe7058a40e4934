import type { UnbrokenLines } from "../../../trace/terminal/unbroken.js";
import { joinLines } from "../../../util/text/linear-text.js";

/** The symbols of a trace and their ASCII forms on limited terminals. */
const SIGNS: readonly (readonly [sign: string, either: string])[] = [
  ["→", "(?:→|->)"],
  ["▸", "(?:▸|>)"],
];

function expressionOf(pattern: string, flags = ""): RegExp {
  const either = SIGNS.reduce((text, [sign, both]) => text.replaceAll(sign, both), pattern);
  return new RegExp(either, flags);
}

/**
 * Finds a pattern in a command's output. A trace wraps long sentences, so if no line matches, line breaks count as
 * spaces.
 * @returns the match
 */
export function findIn(text: string, pattern: string): string | undefined {
  const expression = expressionOf(pattern, "m");
  return (expression.exec(text) ?? expression.exec(joinLines(text, " ")))?.[0];
}

/** The most lines of a wrapped sentence. */
const MOST_LINES = 6;

/** A wrapped line of a trace is indented below time and actor. */
const CONTINUES = /^ {12,}\S/;

/**
 * Finds the lines of each pattern: one line, or consecutive lines of a wrapped sentence, joined. Starts each search at
 * the previous match, and from the beginning if that finds nothing, because output may repeat.
 * @param lines searched in English
 * @returns as they are shown; undefined for a pattern without a match
 */
export function linesWith(
  { english, shown }: UnbrokenLines,
  patterns: readonly string[],
): readonly (readonly string[] | undefined)[] {
  let behind = 0;
  return patterns.map((pattern) => {
    const expression = expressionOf(pattern);
    const found = firstIn(english, expression, behind) ?? firstIn(english, expression, 0);
    if (found === undefined) return undefined;
    behind = found.start;
    return joined(shown.slice(found.start, found.end));
  });
}

function firstIn(
  lines: readonly string[],
  expression: RegExp,
  from: number,
): { start: number; end: number } | undefined {
  for (let count = 1; count <= MOST_LINES; count++) {
    for (let start = from; start + count <= lines.length; start++) {
      const end = start + count;
      if (expression.test(joinLines(lines.slice(start, end).join("\n"), " "))) return { start, end };
    }
  }
  return undefined;
}

function joined(lines: readonly string[]): readonly string[] {
  const whole: string[] = [];
  for (const line of lines) {
    const before = CONTINUES.test(line) ? whole.pop() : undefined;
    whole.push(before === undefined ? line : `${before.trimEnd()} ${line.trim()}`);
  }
  return whole;
}
