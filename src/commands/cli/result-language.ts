import type { Say } from "../../util/i18n/sentences.js";
import type { CliContext, CommandResult } from "./context.js";
import { resultColumns } from "./numbered-steps.js";

/** A width at which nothing wraps. */
const UNBROKEN = 10_000;

/**
 * A result in the language of stdout's reader. JSON is English; a lab gets the lines in both languages, because its patterns are English.
 * @param resultIn makes it for a width and a language; undefined: English
 */
export function inLanguage(
  { resultSay: say, streams }: Pick<CliContext, "resultSay" | "streams">,
  resultIn: (columns: number, say?: Say) => CommandResult,
): CommandResult {
  const columns = resultColumns(streams);
  const english = resultIn(columns);
  const lines = (result: CommandResult) => result.text.split("\n");
  const unbroken = lines(resultIn(UNBROKEN));
  if (say === undefined) return { ...english, lines: { english: unbroken, shown: unbroken } };
  return {
    text: resultIn(columns, say).text,
    json: english.json,
    lines: { english: unbroken, shown: lines(resultIn(UNBROKEN, say)) },
  };
}
