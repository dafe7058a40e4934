import { LabError, type LabErrorCode } from "../errors.js";
import { type MessageKey, type Say, sayIn } from "./catalogue.js";

/** A message of the catalogue with its values, or text of another program, which is the same in every language. */
export type Message =
  | readonly [key: MessageKey, values?: Readonly<Record<string, string | number | Message>>]
  | { readonly verbatim: string };

/** A LabError from code that does not know the learner's language. It is English until `localized` translates it. */
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

/** A LabError in the learner's language. */
export class LocalizedError extends LabError {}

/**
 * Translates a failure. Errors of other wings are English: they become a general message for their code, with the
 * English text as a detail. Errors other than LabError stay unchanged.
 */
export function localized(error: unknown, say: Say): unknown {
  if (!(error instanceof LabError) || error instanceof LocalizedError) return error;
  const { code, message, hint, cause } = error;
  if (error instanceof MessageError) {
    return new LocalizedError(code, formatMessage(error.words, say), formatMessage(error.hintMessage, say), { cause });
  }
  return new LocalizedError(code, say(`kind${code}`, { detail: message }), say(`hint${code}`, { hint }), { cause });
}

/** The text of such a message in one language. */
export function formatMessage(words: Message, say: Say): string {
  if ("verbatim" in words) return words.verbatim;
  const [key, values = {}] = words;
  const said = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === "object" ? formatMessage(value, say) : value,
  ]);
  return say(key, Object.fromEntries(said));
}
