import type { Command } from "commander";
import type { RestConfig } from "../client-go/rest/client.js";
import type { Trace } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import type { Random } from "../util/random.js";

/** The streams of the process, or a test's. */
export interface CliStreams {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: NodeJS.WritableStream & {
    readonly isTTY?: boolean;
    readonly columns?: number;
    readonly rows?: number;
  };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
}

/** Flags that every command which talks to a cluster takes; see `addTargetOptions`. */
export interface TargetOptions {
  readonly mock?: boolean;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly real?: boolean;
  /** name of a running `kubelab cluster up` */
  readonly cluster?: string;
  readonly yes?: boolean;
  readonly kubeVersion?: string;
  readonly speed?: number;
}

/** The cluster that a command works on. */
export interface Target {
  /** `embedded`: started for this command; `joined`: a running `kubelab cluster up`; `real`: named by a flag */
  readonly kind: "embedded" | "joined" | "real";
  /** the identity of the target's administrator (a real cluster: whatever the kubeconfig says) */
  readonly admin: RestConfig;
  /** for headers and questions: `embedded control plane v1.25 at https://127.0.0.1:4001` */
  readonly description: string;
  /** a file through which kubectl reaches the same cluster, when there is one */
  readonly kubeconfigPath?: string;
  /** behaves like this release; a real cluster's own version is asked for when it matters */
  readonly kubeVersion: string;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The process, as commands know it. */
export interface CommandEdge {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly streams: CliStreams;
  readonly random: Random;
  /** program and first arguments that run this CLI again: for `cluster up --detach` */
  readonly self: readonly string[];
  /** aborts on Ctrl-C and SIGTERM */
  readonly signal: AbortSignal;
}

/** What a command gets from the process: built once in `cli.ts`, or by a test with fakes. */
export interface CliContext extends CommandEdge {
  /** results, for stdout: text as it is, or one JSON document under --json */
  print(result: { readonly text: string; readonly json: unknown }): void;
  /**
   * Clock and trace of this command, by its flags (--speed, -v, --trace, --no-color). Made on first use; closed by the
   * process edge after the command.
   */
  session(options: { readonly speed?: number }): { readonly clock: Clock; readonly trace: Trace };
  /**
   * The trace file is another process's of ours to write, and not this one's: before `session`.
   * @returns its absolute path; undefined: none is asked for
   * @throws LabError USAGE for one of an unknown format
   */
  handOverTrace(): string | undefined;
  /**
   * Starts or finds the cluster. Prints the header line that names it.
   * @param traceFor where a control plane that is started here reports; default: the command's own trace
   */
  openTarget(
    command: string,
    options: TargetOptions,
    traceFor?: (trace: Trace, clock: Clock) => Trace,
  ): Promise<Target>;
  /** The exit code of a command that did what it was asked for: of `exec`, the remote command's. */
  exitWith(code: number): void;
  /** In a command that speaks another language: what the process edge says by itself from now on. */
  useWords(words: EdgeWords): void;
  /** Starts a progress line; the caller stops it in `finally`. Trace lines that come meanwhile are printed above it. */
  progress(text: string): Progress;
  /**
   * Asks before something that writes to a real cluster, or takes a choice. `--yes` answers yes. Without a terminal and
   * without `yes`: LabError USAGE that names the flag.
   */
  confirm(question: string, options: { readonly yes?: boolean; readonly flag: string }): Promise<boolean>;
}

/** What stands before the sentence of an error, and what is said after Ctrl-C. */
export interface EdgeWords {
  readonly error: string;
  readonly interrupted: string;
}

/** One line that says what is being waited for: a spinner on a terminal, nothing elsewhere (the trace has the facts). */
export interface Progress {
  /** `waiting for the node to be declared Unknown: 31 s left` */
  update(text: string): void;
  stop(): void;
}

/** How a command adds itself; the module behind it is loaded only when it runs. */
export type AddCommand = (program: Command, context: CliContext) => void;
