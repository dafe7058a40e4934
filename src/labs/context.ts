import type { Language, Say } from "../i18n/catalogue.js";
import type { ProcessContext, Program, Questions } from "../testbed/context.js";
import type { SystemClock } from "../util/clock.js";
import type { LabLibrary } from "./library.js";
import type { ProgressStore } from "./progress-store.js";

/** What labs need of the process. */
export interface LabProcess extends ProcessContext, Questions {
  /** runs a lab's `kubelab` lines in this process */
  readonly program: Program;
  /** Writes a line to stderr. */
  notice(line: string): void;
}

/** What every part of a lab needs. */
export interface LabContext {
  readonly context: LabProcess;
  readonly library: LabLibrary;
  readonly store: ProgressStore;
  readonly language: Language;
  readonly say: Say;
  readonly wall: SystemClock;
  /** columns of the terminal that shows a lab's output, at most 100 */
  readonly columns: number;
  isColoured(stream: "stdout" | "stderr"): boolean;
  /** Writes a text to a stream, wrapped at the stream's width. */
  print(stream: "stdout" | "stderr", text: string): void;
}

/** How a lab is started. */
export interface LabOptions {
  readonly speed?: number;
  readonly seed?: number;
}
