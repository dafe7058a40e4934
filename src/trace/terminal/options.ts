import { Chalk, type ChalkInstance } from "chalk";
import type { TraceEvent } from "../events.js";
import type { Level } from "../trace.js";

export interface TerminalOptions {
  /** level 0 for plain text */
  readonly chalk: ChalkInstance;
  /** columns; 80 without a terminal */
  readonly width: () => number;
  /** false: ASCII only */
  readonly unicode: boolean;
  /** events above this level are not shown */
  readonly verbosity: Level;
  /** Unix ms; the time column counts from here */
  readonly startMs: number;
  /** the sentences of facts in another language; default: English */
  readonly say?: ((text: string) => string) | undefined;
  /** The number of a fact as a step of the command's story. Called once for each fact in their order, and then at will. */
  readonly numberOf?: (event: TraceEvent) => number | undefined;
}

/** Options for text without colours: log files, web pages. */
export function plainText(options: Pick<TerminalOptions, "width" | "verbosity" | "startMs">): TerminalOptions {
  return { ...options, chalk: new Chalk({ level: 0 }), unicode: true };
}
