/** A candidate word for the cursor's position. */
export interface Candidate {
  readonly value: string;
  /** one line, for shells that show it; "" for none */
  readonly about: string;
}

/** The candidates that a shell offers: words, or names of files or folders. */
export type Completion = readonly Candidate[] | "files" | "folders";

/** Words without a description. */
export function wordsAlone(words: readonly string[]): Candidate[] {
  return words.map((value) => ({ value, about: "" }));
}
