import { Chalk, type ChalkInstance } from "chalk";
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

/** without colours, for a lab's patterns */
const PLAIN = new Chalk({ level: 0 });

/**
 * A result in the language and colours of stdout's reader. JSON is English; a lab gets the lines in both languages, because its patterns are
 * English.
 * @param resultIn makes it for a width, colours and a language; undefined: English
 */
export function inLanguage(
  context: Pick<CliContext, "resultSay" | "streams" | "chalk">,
  resultIn: (columns: number, chalk: ChalkInstance, say?: Say) => CommandResult,
): PrintedResult {
  const { resultSay: say } = context;
  const columns = resultColumns(context.streams);
  const lines = (language?: Say) => resultIn(UNBROKEN, PLAIN, language).text.split("\n");
  const english = lines();
  const { text } = resultIn(columns, context.chalk("stdout"), say);
  const { json } = resultIn(columns, PLAIN);
  return { text, json, isPainted: true, lines: { english, shown: say === undefined ? english : lines(say) } };
}
