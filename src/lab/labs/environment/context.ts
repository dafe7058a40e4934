import type { ProcessContext, Program, ProgressReporter, Questions } from "../../../testbed/context.js";
import type { TraceEvent } from "../../../trace/events.js";
import type { SystemClock } from "../../../util/clock.js";
import type { Say } from "../../../util/i18n/catalogue.js";
import type { Language } from "../../../util/i18n/language.js";
import type { LabLibrary } from "../format/library.js";
import type { ProgressStore } from "../progress/progress-store.js";

/** The parts of the process that labs need. */
export interface LabProcess extends ProcessContext, Questions, ProgressReporter {
  /** runs a lab's `kubelab` lines in this process */
  readonly program: Program;
  /** Writes a line to stderr. */
  notice(line: string): void;
}

/** Common to all parts of a lab. */
export interface LabContext {
  readonly context: LabProcess;
  readonly library: LabLibrary;
  readonly store: ProgressStore;
  readonly language: Language;
  readonly say: Say;
  readonly wall: SystemClock;
  /** width of the terminal that shows a lab's output, at most 100 */
  readonly columns: number;
  /** false: the terminal shows ASCII only */
  readonly unicode: boolean;
  isColoured(stream: "stdout" | "stderr"): boolean;
  /** Writes a page that shows facts, readable only by its owner. @throws LabError BAD_FILE */
  writePage(path: string, facts: readonly TraceEvent[]): Promise<void>;
  /** Writes a line to stderr, between the lines of a progress. On a terminal, it is wrapped at its width. */
  notice(line: string): void;
  /** Writes a text to a stream, wrapped at the stream's width. */
  print(stream: "stdout" | "stderr", text: string): void;
}

/** Settings of a lab's start. */
export interface LabOptions {
  readonly speed?: number;
  readonly seed?: number;
  /** `1.29`: the cluster's release; default: the lab's */
  readonly kubeVersion?: string;
}
