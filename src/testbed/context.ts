import type { Secrets } from "../trace/redaction/secrets.js";
import type { ShowFact } from "../trace/terminal/terminal-sink.js";
import type { UnbrokenLines } from "../trace/terminal/unbroken.js";
import type { TraceSink } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import type { Random } from "../util/random.js";

/** The process: its environment, its folder, its randomness, and Ctrl-C. */
export interface ProcessContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly random: Random;
  /** program and first arguments that run this CLI again: for `cluster up --detach` */
  readonly self: readonly string[];
  /** aborts on Ctrl-C and SIGTERM */
  readonly signal: AbortSignal;
  /** the secret values that this process has seen: its traces share them, and its crash reports mask them */
  readonly secrets?: Secrets;
}

/** The streams of the process, or a test's. */
export interface ProcessStreams {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  readonly stdout: NodeJS.WritableStream & {
    readonly isTTY?: boolean;
    readonly columns?: number;
    readonly rows?: number;
  };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
}

/** The environment of one run of the program. */
export interface ProgramEdge extends ProcessContext {
  readonly streams: ProcessStreams;
  /** the clock of the running cluster that commands join: its speed may change while they run */
  readonly clusterClock?: Clock;
  /** also receives the run's facts, with times of `clusterClock` */
  readonly sink?: TraceSink;
  /** the sentences of facts in the reader's language; default: English, at a terminal the terminal's language */
  readonly say?: ((sentence: string) => string) | undefined;
  /** shows the facts that stderr would show */
  readonly showFact?: ShowFact | undefined;
  /** gets the lines of a result on stdout that is wrapped or not English, before they are wrapped */
  readonly onLines?: OnLines | undefined;
}

export type OnLines = (lines: UnbrokenLines) => void;

/** This program, passed down from the top: labs and the small kubectl run its commands in this process. */
export interface Program {
  readonly commandNames: readonly string[];
  /** @param argv without the program's name @returns the exit code */
  run(argv: readonly string[], version: string, edge: ProgramEdge): Promise<number>;
}

/** Asks the user. */
export interface Questions {
  /**
   * Asks before a write to a real cluster, or before a choice. `yes` answers yes. Without a terminal and without `yes`:
   * LabError USAGE that names the flag.
   */
  confirm(question: string, options: { readonly yes?: boolean; readonly flag: string }): Promise<boolean>;
}

/** The parts of the process that joining a node needs. */
export type NodeContext = Pick<ProcessContext, "random" | "signal"> & Questions & ProgressReporter;

/** Text for one line, or a function that fits it to a number of columns. */
export type ProgressText = string | ((columns: number) => string);

/** One line at the bottom of a terminal: what a command waits for, or its keys. Disposing stops it. */
export interface Progress extends Disposable {
  /** `waiting for the node to be declared Unknown: 31 s left` */
  update(text: ProgressText): void;
  stop(): void;
}

/** Shows progress lines. */
export interface ProgressReporter {
  /** Starts a progress line; write `using`, so that it also ends with an error. Trace lines appear above it. */
  progress(text: ProgressText): Progress;
}
