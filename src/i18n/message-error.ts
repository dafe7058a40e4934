import { LabError, type LabErrorCode } from "../util/errors.js";
import { type MessageKey, type Say, sayIn } from "./catalogue.js";

/** A message of the catalogue with its values, or words that are the same in every language: another program's own. */
export type Message =
  | readonly [key: MessageKey, values?: Readonly<Record<string, string | number | Message>>]
  | { readonly verbatim: string };

/**
 * A LabError thrown where the learner's language is not known. It speaks English until `localized` says it again.
 */
export class MessageError extends LabError {
  constructor(
    code: LabErrorCode,
    readonly words: Message,
    readonly hintMessage: Message,
    options?: { cause?: unknown },
  ) {
    const say = sayIn("en");
    super(code, formatMessage(words, say), formatMessage(hintMessage, say), options);
  }
}

/** A LabError that is made where the learner's language is known, and speaks it. */
export class LocalizedError extends LabError {}

/**
 * The same failure in the learner's language. What other rooms of the program throw speaks English: it is told by its kind,
 * with their words as a detail. What is no LabError stays what it is.
 */
export function localized(error: unknown, say: Say): unknown {
  if (!(error instanceof LabError) || error instanceof LocalizedError) return error;
  const { code, message, hint, cause } = error;
  if (error instanceof MessageError) {
    return new LocalizedError(code, formatMessage(error.words, say), formatMessage(error.hintMessage, say), { cause });
  }
  return new LocalizedError(code, say(`kind${code}`, { detail: message }), say(`hint${code}`, { hint }), { cause });
}

/** Such words in one language. */
export function formatMessage(words: Message, say: Say): string {
  if ("verbatim" in words) return words.verbatim;
  const [key, values = {}] = words;
  const said = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === "object" ? formatMessage(value, say) : value,
  ]);
  return say(key, Object.fromEntries(said));
}
