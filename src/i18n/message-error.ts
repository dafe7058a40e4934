import { LabError, type LabErrorCode } from "../util/errors.js";
import { type MessageKey, type Say, sayIn } from "./catalogue.js";

/** A message of the catalogue with its values, or words that are the same in every language: another program's own. */
export type Words =
  | readonly [key: MessageKey, values?: Readonly<Record<string, string | number | Words>>]
  | { readonly verbatim: string };

/**
 * A LabError thrown where the learner's language is not known. It speaks English until `inLanguageOf` says it again.
 */
export class SaidError extends LabError {
  constructor(
    code: LabErrorCode,
    readonly words: Words,
    readonly hintWords: Words,
    options?: { cause?: unknown },
  ) {
    const say = sayIn("en");
    super(code, spoken(words, say), spoken(hintWords, say), options);
  }
}

/** A LabError that is made where the learner's language is known, and speaks it. */
export class SpokenError extends LabError {}

/**
 * The same failure in the learner's language. What other rooms of the program throw speaks English: it is told by its kind,
 * with their words as a detail. What is no LabError stays what it is.
 */
export function inLanguageOf(error: unknown, say: Say): unknown {
  if (!(error instanceof LabError) || error instanceof SpokenError) return error;
  const { code, message, hint, cause } = error;
  if (error instanceof SaidError) {
    return new SpokenError(code, spoken(error.words, say), spoken(error.hintWords, say), { cause });
  }
  return new SpokenError(code, say(`kind${code}`, { detail: message }), say(`hint${code}`, { hint }), { cause });
}

/** Such words in one language. */
export function spoken(words: Words, say: Say): string {
  if ("verbatim" in words) return words.verbatim;
  const [key, values = {}] = words;
  const said = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === "object" ? spoken(value, say) : value,
  ]);
  return say(key, Object.fromEntries(said));
}
