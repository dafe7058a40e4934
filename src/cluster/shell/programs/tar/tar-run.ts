import type { Self } from "../../process/process.js";
import type { TarOptions } from "./options.js";

/** An unreadable archive, with the message that tar prints. */
export class TarError extends Error {
  override readonly name = "TarError";
}

/** One run of the program. */
export interface TarRun {
  readonly self: Self;
  readonly options: TarOptions;
  /** Reports a problem with one entry. The others are processed; the exit code becomes 1. */
  readonly complain: (text: string) => Promise<void>;
  /** Prints an entry's name under -v and -t. */
  readonly name: (text: string) => Promise<void>;
}
