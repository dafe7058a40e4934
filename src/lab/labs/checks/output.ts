import type { TraceEvent } from "../../../trace/events.js";
import { plainText } from "../../../trace/terminal/options.js";
import { renderEvent } from "../../../trace/terminal/render-event.js";
import type { UnbrokenLines } from "../../../trace/terminal/unbroken.js";
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
 * Finds a pattern in a command's output. A lab's patterns are English and unwrapped, so wrapped or translated output is
 * searched in its unwrapped English form.
 * @returns the match
 */
export function findInOutput(result: CommandResult, stream: OutputStream, pattern: string): string | undefined {
  const lines = unbrokenOn(result, stream);
  const found = findIn(lines.english.join("\n"), pattern);
  if (found === undefined) return findIn(outputOn(result, stream), pattern);
  const [shown = ""] = linesWith(lines, [pattern]);
  // A match over many lines has no single line to show.
  return shown.includes(found) ? found : shown.trim() || found;
}

/** The line of each pattern, whole and in the learner's language; undefined for a pattern without a match. */
export function matchedLines(result: CommandResult, patterns: readonly string[]): readonly (string | undefined)[] {
  const printed = outputOn(result, "both").split("\n");
  const asPrinted = linesWith({ english: printed, shown: printed }, patterns);
  return linesWith(unbrokenOn(result, "both"), patterns).map((lines, i) => lines ?? asPrinted[i]);
}

function unbrokenOn({ lines }: CommandResult, stream: OutputStream): UnbrokenLines {
  if (lines === undefined) return { english: [], shown: [] };
  if (stream !== "both") return lines[stream];
  const { stdout, stderr } = lines;
  return { english: [...stdout.english, ...stderr.english], shown: [...stdout.shown, ...stderr.shown] };
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
