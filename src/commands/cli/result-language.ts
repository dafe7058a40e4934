import { asItIs } from "../../trace/translated.js";
import { defined } from "../../util/defined.js";
import type { Say } from "../../util/i18n/sentences.js";
import type { CliContext, CommandResult, PrintedResult } from "./context.js";
import { resultColumns } from "./numbered-steps.js";

/** The text of a result in the language of stdout's reader, and its lines for a lab, whose patterns are English. */
export function worded(
  { text, isProse = false, lines }: PrintedResult,
  say: Say | undefined,
): Pick<CommandResult, "lines"> & { readonly text: string } {
  const english = typeof text === "string" ? text : text(asItIs);
  const isOpen = isProse || typeof text === "function";
  if (say === undefined || !isOpen) return { text: english, ...defined({ lines }) };
  const inLines = (whole: string) => whole.split("\n");
  const shown = typeof text === "string" ? inLines(text).map(say) : inLines(text(say));
  return { text: shown.join("\n"), lines: { english: inLines(english), shown } };
}

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
