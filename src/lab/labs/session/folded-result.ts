import { findIn } from "../checks/match.js";

/** A shorter result stays whole. */
const WHOLE = 12;
/** The most lines of a result on the screen, unless the step is about more. */
const MAX_LINES = 8;
/** `  7 ←5     0.012 kubelet    ` in front of a numbered step */
const HEAD = /^ {0,2}\d+ (?:[←<]\d+ +| {5})? *\d+\.\d{3} \S+ +/;

/**
 * A long result of numbered steps, of which the steps that a lab's step is about are shown completely, and of the others the first ones
 * without their details. Pure.
 * @param text as it was printed for the terminal
 * @param english its lines, in English and without wrapping
 * @param about patterns
 * @returns undefined for another or a short result
 */
export function foldedResult(
  text: string,
  english: readonly string[],
  about: readonly string[],
): { readonly text: string; readonly folded: number } | undefined {
  const lines = text.trimEnd().split("\n");
  const groups = numbered(lines);
  const meant = numbered(english).map((group) => about.some((one) => findIn(group.join("\n"), one) !== undefined));
  if (lines.length <= WHOLE || groups.length !== meant.length || groups.length === 1) return undefined;
  let room = MAX_LINES - groups.filter((_, i) => meant[i]).flat().length;
  const shown = groups.flatMap((group, i) => {
    // The text around the steps: the request, and the API server's message.
    if (i === 0) return group;
    if (meant[i]) return group;
    const first = withoutDetails(group);
    room -= first.length;
    return room < 0 ? [] : first;
  });
  return { text: `${shown.join("\n")}\n`, folded: lines.length - shown.length };
}

/** The lines in front of the first step, and those of each step. */
function numbered(lines: readonly string[]): string[][] {
  const groups: string[][] = [[]];
  for (const line of lines) {
    if (HEAD.test(line)) groups.push([line]);
    else groups.at(-1)?.push(line);
  }
  return groups;
}

/** The sentence of a step; its details are indented further. */
function withoutDetails([head = "", ...below]: readonly string[]): string[] {
  const indent = " ".repeat(HEAD.exec(head)?.[0].length ?? 0);
  const end = below.findIndex((line) => !line.startsWith(indent) || line.startsWith(`${indent}  `));
  return [head, ...(end < 0 ? below : below.slice(0, end))];
}
