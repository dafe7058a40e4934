import { LabError, type LabErrorCode } from "../util/errors.js";
import type { EN } from "./catalogue/en.js";
import { type Say, sayIn } from "./catalogue.js";

/** A message of the catalogue with its values, or words that are the same in every language: another program's own. */
export type Words =
  | readonly [key: keyof typeof EN, values?: Readonly<Record<string, string | number>>]
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

/** The same failure in the learner's language; what is no SaidError stays what it is. */
export function inLanguageOf(error: unknown, say: Say): unknown {
  if (!(error instanceof SaidError)) return error;
  return new LabError(error.code, spoken(error.words, say), spoken(error.hintWords, say), { cause: error.cause });
}

function spoken(words: Words, say: Say): string {
  return "verbatim" in words ? words.verbatim : say(words[0], words[1]);
}
