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

/**
 * Finds the line of each pattern. Starts each search at the previous match, and from the beginning if that finds nothing, because output
 * may repeat.
 * @param lines searched in English
 * @returns as they are shown; undefined for a pattern without a match
 */
export function linesWith({ english, shown }: UnbrokenLines, patterns: readonly string[]): (string | undefined)[] {
  let behind = 0;
  return patterns.map((pattern) => {
    const expression = expressionOf(pattern);
    const next = english.findIndex((line, i) => i >= behind && expression.test(line));
    const found = next < 0 ? english.findIndex((line) => expression.test(line)) : next;
    if (found >= 0) behind = found;
    return shown[found];
  });
}
