import { assertNever, messageOf } from "../../util/errors.js";
import type { Machine } from "./machine.js";
import { endsByDefault, SIGKILL, SIGPIPE } from "./signals.js";
import { BrokenPipeError, type ByteSink, type ByteSource } from "./streams.js";

/** How a process ended. */
export type ExitStatus =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signaled"; readonly signal: number };

/** The exit code in a shell's `$?` and a container's status. */
export function exitCodeOf(status: ExitStatus): number {
  switch (status.kind) {
    case "exited":
      return status.code;
    case "signaled":
      return 128 + status.signal;
    default:
      return assertNever(status);
  }
}

/** A process's action for a signal. */
export type SignalHandler = "default" | "ignore" | ((signal: number) => void);

/** The start parameters of a program. */
export interface Invocation {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stdin: ByteSource;
  readonly stdout: ByteSink;
  readonly stderr: ByteSink;
}

/** A program's own process: everything that the program can access. */
export interface Self extends Invocation {
  readonly pid: number;
  /** aborts when the process is killed; every wait must take it */
  readonly signal: AbortSignal;
  readonly machine: Machine;
  onSignal(signal: number, handler: SignalHandler): void;
  /** Replaces the program, as after exec: signal handlers are reset, ignored signals stay ignored. */
  become(argv: readonly string[]): void;
}

/** A program. Resolves with its exit code. */
export type Program = (self: Self) => Promise<number>;

export interface ProcessOptions extends Invocation {
  readonly pid: number;
  readonly parentPid: number;
  /** the process group: the PID of its first process */
  readonly group: number;
  /** the first process of its PID namespace */
  readonly isInit: boolean;
}

/** The reason that aborts the waits of a killed process. Created once, because an error collects its stack. */
const KILLED = new DOMException("the process has ended", "AbortError");

/** A process in a container: a running program, its streams, and its reactions to signals. */
export class Process {
  readonly pid: number;
  readonly parentPid: number;
  /** processes that a terminal's keys reach together */
  readonly group: number;
  readonly exited: Promise<ExitStatus>;
  #argv: readonly string[];
  #end: (status: ExitStatus) => void = () => {};
  #status: ExitStatus | undefined;
  readonly #handlers = new Map<number, SignalHandler>();
  /** created for the first wait; most programs end without one */
  #kill: AbortController | undefined;
  /** its initial streams: upstream /proc/PID/fd/0, 1 and 2 */
  readonly streams: readonly [ByteSource, ByteSink, ByteSink];
  readonly #isInit: boolean;

  constructor(program: Program, machine: Machine, options: ProcessOptions) {
    this.pid = options.pid;
    this.parentPid = options.parentPid;
    this.group = options.group;
    this.#argv = options.argv;
    this.#isInit = options.isInit;
    this.exited = new Promise((resolve) => {
      this.#end = resolve;
    });
    const { stdin, stdout, stderr } = options;
    this.streams = [stdin, stdout, stderr];
    for (const stream of this.streams) stream.retain();
    const signal = () => this.#signal();
    const self: Self = {
      argv: options.argv,
      env: options.env,
      cwd: options.cwd,
      pid: options.pid,
      stdin,
      stdout,
      stderr,
      get signal() {
        return signal();
      },
      machine,
      onSignal: (signal, handler) => {
        this.#handlers.set(signal, handler);
      },
      become: (argv) => {
        this.#argv = argv;
        for (const [signal, handler] of this.#handlers) if (handler !== "ignore") this.#handlers.delete(signal);
      },
    };
    // Later, once the process table has it: `ps` lists itself.
    queueMicrotask(() => void this.#run(program, self));
  }

  get argv(): readonly string[] {
    return this.#argv;
  }

  get status(): ExitStatus | undefined {
    return this.#status;
  }

  async #run(program: Program, self: Self): Promise<void> {
    try {
      const code = await program(self);
      this.#finish({ kind: "exited", code: code & 0xff });
    } catch (error) {
      if (error instanceof BrokenPipeError) this.#finish({ kind: "signaled", signal: SIGPIPE });
      else if (this.#status === undefined) {
        // An exception in a program is a bug of ours; the container sees a crash, and the log the reason.
        await say(self, `${self.argv[0]}: ${messageOf(error)}\n`);
        this.#finish({ kind: "exited", code: 1 });
      }
    }
  }

  #signal(): AbortSignal {
    if (this.#kill === undefined) {
      this.#kill = new AbortController();
      if (this.#status !== undefined) this.#kill.abort(KILLED);
    }
    return this.#kill.signal;
  }

  #finish(status: ExitStatus): void {
    if (this.#status !== undefined) return;
    this.#status = status;
    this.#kill?.abort(KILLED);
    for (const stream of this.streams) stream.release();
    this.#end(status);
  }

  /**
   * Sends a signal.
   *
   * As in the kernel, SIGKILL always ends the process, and the first process of a PID namespace ignores every other
   * signal without a handler. That is why `sleep` as a container's command survives SIGTERM.
   */
  kill(signal: number): void {
    if (this.#status !== undefined) return;
    if (signal === SIGKILL) {
      this.#finish({ kind: "signaled", signal });
      return;
    }
    const handler = this.#handlers.get(signal) ?? "default";
    if (handler === "ignore") return;
    if (handler !== "default") {
      handler(signal);
      return;
    }
    if (!this.#isInit && endsByDefault(signal)) this.#finish({ kind: "signaled", signal });
  }

  /** Ends the process with a given result, for actions of the kernel or the learner. */
  endAs(status: ExitStatus): void {
    this.#finish(status);
  }
}

async function say(self: Self, text: string): Promise<void> {
  try {
    await self.stderr.write(Buffer.from(text), self.signal);
  } catch {
    // Its stderr is closed as well, so there is nothing to report to.
  }
}
