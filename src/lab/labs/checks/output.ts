import type { TraceEvent } from "../../../trace/events.js";
import { plainText, renderEvent } from "../../../trace/terminal/terminal.js";
import type { CommandResult } from "../environment/runner.js";
import { findIn, linesWith } from "./match.js";

/** Lines are not wrapped, so that a pattern finds a sentence that a terminal breaks. */
const WIDE = plainText({ width: () => 10_000, verbosity: 2, startMs: 0 });

export type OutputStream = "stdout" | "stderr" | "both";

export function outputOn({ stdout, stderr }: CommandResult, stream: OutputStream): string {
  if (stream === "both") return `${stdout}\n${stderr}`;
  return stream === "stdout" ? stdout : stderr;
}

/**
 * Finds a pattern in what a command printed. A lab's patterns are English: what was printed in another language is searched in
 * the lines of the command's results, and in its facts.
 * @returns the match
 */
export function findInOutput(result: CommandResult, stream: OutputStream, pattern: string): string | undefined {
  const found = findIn(outputOn(result, stream), pattern);
  if (found !== undefined || result.say === undefined) return found;
  const line = stream === "stderr" ? undefined : resultLine(pattern, result);
  if (line !== undefined) return line;
  const fact = factWith(pattern, result.facts?.() ?? []);
  return fact === undefined ? undefined : firstLine(fact, result);
}

/** The lines of each pattern, as they were printed; undefined for a pattern without a match. */
export function matchedLines(
  result: CommandResult,
  patterns: readonly string[],
): readonly (readonly string[] | undefined)[] {
  const facts = result.facts?.() ?? [];
  const found = linesWith(outputOn(result, "both"), patterns).map((lines) => wholeLines(lines, facts, result));
  if (result.say === undefined) return found;
  return patterns.map((pattern, i) => {
    const line = found[i] === undefined ? resultLine(pattern, result) : undefined;
    if (line !== undefined) return [line];
    const fact = found[i] === undefined ? factWith(pattern, facts) : undefined;
    return fact === undefined ? found[i] : [firstLine(fact, result)];
  });
}

/** Completes a sentence that a terminal's width has broken after the part that was looked for. */
function wholeLines(
  lines: readonly string[] | undefined,
  facts: readonly TraceEvent[],
  { say }: CommandResult,
): readonly string[] | undefined {
  if (lines === undefined || facts.length === 0) return lines;
  const style = say === undefined ? WIDE : { ...WIDE, say };
  const unbroken = facts.flatMap((fact) => renderEvent(fact, 0, style)).map((line) => line.trim());
  return lines.map((line) => unbroken.find((one) => one.startsWith(`${line.trim()} `)) ?? line);
}

/** The line of a result as shown, by what it says in English. */
function resultLine(pattern: string, { lines }: CommandResult): string | undefined {
  const at = lines?.english.findIndex((line) => findIn(line, pattern) !== undefined) ?? -1;
  return lines?.shown[at]?.trim();
}

/** The first fact whose English text has the pattern. */
export function factWith(pattern: string, facts: readonly TraceEvent[]): TraceEvent | undefined {
  return facts.find((event) => hasText(event, pattern));
}

/** The last fact whose English text has the pattern, not counting a user's own commands. */
export function lastFactWith(pattern: string, facts: readonly TraceEvent[]): TraceEvent | undefined {
  return facts.findLast((event) => event.actor !== "user" && hasText(event, pattern));
}

function hasText(event: TraceEvent, pattern: string): boolean {
  return findIn(renderEvent(event, 0, WIDE).join("\n"), pattern) !== undefined;
}

function firstLine(fact: TraceEvent, { say }: CommandResult): string {
  return renderEvent(fact, 0, { ...WIDE, say })[0]?.trim() ?? "";
}
