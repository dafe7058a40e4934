import type { TraceEvent } from "../../../trace/events.js";
import type { TerminalOptions } from "../../../trace/terminal/options.js";
import type { UnbrokenLines } from "../../../trace/terminal/unbroken.js";

/** The output of a command, up to now or complete. */
export interface CommandResult {
  /** undefined while it runs */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** the command's facts, only the last ones if there are many; undefined for a separate program */
  readonly facts?: () => readonly TraceEvent[];
  /** for such a program: the facts of the lab's cluster until its end; undefined for a command with its own facts */
  readonly meanwhile?: () => readonly TraceEvent[];
  /** for a command with its own facts: the lines of its trace, and of a result that is wrapped or not English */
  readonly lines?: Readonly<Record<"stdout" | "stderr", UnbrokenLines>>;
}

/** A fact of the trace of a command in this process. */
export interface ShownFact {
  readonly event: TraceEvent;
  readonly lines: UnbrokenLines;
  /** of the trace, in the learner's language */
  readonly options: TerminalOptions;
}

/** @param more the fact of a line on stderr; the lines of a result on stdout, without wrapping */
export type OutputListener = (stream: "stdout" | "stderr", text: string, more?: ShownFact | UnbrokenLines) => void;

/** A background command. */
export interface KeptCommand {
  readonly result: CommandResult;
  /** resolves when it has ended, also by `stop` */
  readonly ended: Promise<CommandResult>;
  /** Stops it like Ctrl-C and waits for its end. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Runs a lab's command lines in its folder, with its cluster. `kubelab`, `kubectl`, `openssl` and the shell mean the
 * same as in the learner's other terminal.
 */
export interface CommandRunner {
  run(line: string, onOutput: OutputListener | undefined, signal: AbortSignal): Promise<CommandResult>;
  keep(line: string, onOutput: OutputListener | undefined): KeptCommand;
}

/**
 * Matches lines that a POSIX shell parses as one simple command: no pipe, substitution, redirection or second command.
 */
const SHELL_SIGNS = /[|&;<>$`\\*?[\]{}()~#]/;
const ASSIGNMENT = /^\w+=/;

/**
 * Splits a simple command line into words and removes quotes.
 * @returns undefined if the line needs a shell
 */
export function plainWords(line: string): readonly string[] | undefined {
  if (line.trim().includes("\n") || ASSIGNMENT.test(line.trim())) return undefined;
  const words: string[] = [];
  for (const match of line.trim().matchAll(/(?:'([^']*)'|"([^"$`\\]*)"|([^\s'"]+))(?=\s|$)/g)) {
    const [, single, double, bare] = match;
    if (bare !== undefined && SHELL_SIGNS.test(bare)) return undefined;
    words.push(single ?? double ?? bare ?? "");
  }
  // Unparsed text between words: a quote inside a word, or an escape.
  const understood = line
    .trim()
    .match(/(?:'[^']*'|"[^"$`\\]*"|[^\s'"]+)(?=\s|$)/g)
    ?.join(" ");
  return understood === line.trim().replace(/\s+/g, " ") || understood === line.trim() ? words : undefined;
}
