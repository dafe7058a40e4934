import type { Process, Self } from "../process/process.js";
import type { ByteSink, ByteSource } from "../streams.js";
import type { ExpansionHost } from "./expansion/expand.js";
import type { JobControl } from "./job-control.js";
import type { ArithExpr, CommandNode, ScriptNode, StatementNode } from "./syntax/ast.js";
import type { Traps } from "./traps.js";

/** How a forked shell differs from its parent. */
export interface ForkOptions {
  readonly stdin?: ByteSource;
  readonly stdout?: ByteSink;
  readonly stderr?: ByteSink;
  /** signals that it ignores */
  readonly ignores?: readonly number[];
  readonly group?: number | "new";
  /** its command, if it runs only one */
  readonly command?: CommandNode | undefined;
}

/** A running shell, as its builtins and compound commands see it. */
export interface Shell extends ExpansionHost {
  readonly self: Self;
  readonly traps: Traps;
  /** of an interactive shell, which gives the terminal to its foreground commands */
  jobControl: JobControl | undefined;
  sink(fd: number): ByteSink;
  source(fd: number): ByteSource;
  parseArithmetic(text: string): ArithExpr;
  print(text: string, fd?: number): Promise<void>;
  /** Prints an error of the shell itself: `sh: text`. */
  complain(text: string): Promise<void>;
  runText(text: string): Promise<number>;
  runScript(script: ScriptNode): Promise<number>;
  /** @param isLast nothing follows, so a program may replace the shell */
  runStatement(statement: StatementNode, isLast?: boolean): Promise<number>;
  /** Runs statements in sequence. @returns the last status */
  runAll(statements: readonly StatementNode[]): Promise<number>;
  runCommand(node: CommandNode, isLast?: boolean): Promise<number>;
  /** Runs a command whose failure does not end the shell under `set -e`: conditions, operands of `&&`. */
  guarded<T>(body: () => Promise<T>): Promise<T>;
  /** Counts words in the shell's memory while `body` runs. @throws OutOfMemoryError */
  holding<T>(words: readonly string[], body: () => Promise<T>): Promise<T>;
  /** Starts a process with a copy of this shell. */
  fork(body: (shell: Shell) => Promise<number>, options?: ForkOptions): Process;
  /** Waits for the foreground processes, which share a process group. @returns the exit codes */
  waitFor(children: readonly Process[]): Promise<readonly number[]>;
}
