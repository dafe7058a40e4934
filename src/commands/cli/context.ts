import type { ChalkInstance } from "chalk";
import type { Command } from "commander";
import type { ProcessContext, ProcessStreams, Program, ProgressReporter, Questions } from "../../testbed/context.js";
import type { Target, TargetOptions } from "../../testbed/target/target.js";
import type { Actor } from "../../trace/events.js";
import type { UnbrokenLines } from "../../trace/terminal/unbroken.js";
import type { Trace } from "../../trace/trace.js";
import type { LiveServer } from "../../trace/ui/live-server.js";
import type { Clock } from "../../util/clock.js";
import type { Say } from "../../util/i18n/sentences.js";

/** What a command gets from the process: built once in `cli.ts`, or by a test with fakes. */
export interface CliContext extends ProcessContext, Questions, ProgressReporter {
  readonly streams: ProcessStreams;
  /** this program, for commands that run its other commands */
  readonly program: Program;
  /** Whether progress lines are shown: on a terminal, without --json, --no-color and NO_COLOR. */
  readonly showsProgress: boolean;
  /** the sentences of facts in the user's language; undefined: English. Known when the action begins. */
  readonly say: Say | undefined;
  /** the same for results on stdout: a pipe gets English unless --lang asks for another language */
  readonly resultSay: Say | undefined;
  /** the live page of --ui; undefined without the flag */
  readonly ui: Pick<LiveServer, "present" | "write" | "level"> | undefined;
  /** The colours of a stream; level 0: none. */
  chalk(stream: "stdout" | "stderr"): ChalkInstance;
  /** Writes a line to stderr. */
  notice(line: string): void;
  /** Writes a result to stdout: its text, or under --json one JSON document. */
  print(result: PrintedResult): void;
  /**
   * Clock and trace of this command, by its flags (--speed, -v, --trace, --no-color). Made on first use; closed by the
   * process edge after the command. `wantsBodies`: the result words what requests sent, also without a file.
   */
  session(options: { readonly speed?: number; readonly wantsBodies?: boolean }): {
    readonly clock: Clock;
    readonly trace: Trace;
  };
  /**
   * Hands the trace file over to another process of this program; called before `session`.
   * @returns its absolute path; undefined without --trace
   * @throws LabError USAGE for an unknown format
   */
  handOverTrace(): string | undefined;
  /**
   * Runs the start of what a command needs. A terminal without -v shows its facts as one line, or each if it fails.
   * @param doing `starting a node`
   * @param what `node node-1 has started`
   * @param shown whose facts are shown all the same
   */
  folded<T>(doing: string, what: string, start: () => Promise<T>, shown?: Actor): Promise<T>;
  /** Ends the limit that --duration sets for the start. */
  hasStarted(): void;
  /**
   * Starts or finds the cluster. Prints the header line that names it.
   * @param traceFor the trace of a control plane that is started here; default: the command's own
   */
  openTarget(
    command: string,
    options: TargetOptions,
    traceFor?: (trace: Trace, clock: Clock) => Trace,
  ): Promise<Target>;
  /** Sets the exit code of a successful command: for `exec`, the remote command's. */
  exitWith(code: number): void;
  /** Sets the process edge's texts for a command in another language. */
  useWords(words: EdgeWords): void;
}

/** The result that a command prints on stdout. */
export interface CommandResult {
  readonly text: string;
  readonly json: unknown;
  /** the text has sentences, which are translated, and wrapped for a terminal; default: text to paste or to parse */
  readonly isProse?: boolean;
  /** the text has colours, and is safe to print */
  readonly isPainted?: boolean;
  /** for a text that is wrapped or not English: its unwrapped lines, in English and as shown */
  readonly lines?: UnbrokenLines;
}

/** A result whose text may be made of parts that are translated, such as the headings of a table. */
export type PrintedResult = Omit<CommandResult, "text"> & {
  readonly text: CommandResult["text"] | ((say: Say) => string);
};

/** The prefix of an error message, the message after Ctrl-C, and what comes before an address. */
export interface EdgeWords {
  readonly error: string;
  readonly interrupted: string;
  /** before the address of the live page */
  readonly livePage: string;
}

/** Gives a command its flags and its action. Its module is loaded only when the command line names it. */
export type AddCommand = (command: Command, context: CliContext) => void;
