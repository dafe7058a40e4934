import { assertNever } from "../../util/errors.js";
import type { Machine } from "./machine.js";
import { endsByDefault, SIGKILL, SIGPIPE } from "./signals.js";
import { BrokenPipeError, type ByteSink, type ByteSource } from "./streams.js";

/** How a process ended. */
export type ExitStatus =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signaled"; readonly signal: number };

/** As a shell's `$?` and a container's exitCode show it. */
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

/** What a process does about a signal it has been sent. */
export type SignalHandler = "default" | "ignore" | ((signal: number) => void);

/** What a program is started with. */
export interface Invocation {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly stdin: ByteSource;
  readonly stdout: ByteSink;
  readonly stderr: ByteSink;
}

/** What a program sees of the world: all that it may touch. */
export interface Self extends Invocation {
  readonly pid: number;
  /** aborts when the process is ended from outside: every wait takes it */
  readonly signal: AbortSignal;
  readonly machine: Machine;
  onSignal(signal: number, handler: SignalHandler): void;
  /** The process goes on as another program, as after exec: its handlers of signals are gone, what it ignores stays so. */
  become(argv: readonly string[]): void;
}

/** A program: runs until its exit code is there. */
export type Program = (self: Self) => Promise<number>;

export interface ProcessOptions extends Invocation {
  readonly pid: number;
  readonly parentPid: number;
  /** the process group: the PID of its first process */
  readonly group: number;
  /** the first process of its PID namespace */
  readonly isInit: boolean;
}

/** Ends a program's waits when its process is killed. Made once: an error collects its stack, and each process ends. */
const KILLED = new DOMException("the process has ended", "AbortError");

/** A process in a container: a program that runs, the streams it holds, and what signals do to it. */
export class Process {
  readonly pid: number;
  readonly parentPid: number;
  /** who a terminal's keys reach together */
  readonly group: number;
  readonly exited: Promise<ExitStatus>;
  #argv: readonly string[];
  #end: (status: ExitStatus) => void = () => {};
  #status: ExitStatus | undefined;
  readonly #handlers = new Map<number, SignalHandler>();
  /** made for the first program that waits: most end without having waited for anything */
  #kill: AbortController | undefined;
  /** what it was started with: upstream /proc/PID/fd/0, 1 and 2 */
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
    // Not before whoever starts it has it in the books: `ps` sees itself.
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
        // A program that throws has a bug of ours; the container sees a crash and the log says why.
        await say(self, `${self.argv[0]}: ${error instanceof Error ? error.message : String(error)}\n`);
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
   * As the kernel does: SIGKILL always ends the process; the first process of a PID namespace is spared every other signal
   * that it has no handler for, which is why `sleep` as a container's command outlives SIGTERM.
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

  /** Ends the process with a code of somebody else's choosing: for what the kernel, or a learner, does to it. */
  endAs(status: ExitStatus): void {
    this.#finish(status);
  }
}

async function say(self: Self, text: string): Promise<void> {
  try {
    await self.stderr.write(Buffer.from(text), self.signal);
  } catch {
    // Its stderr is gone as well: nobody is left to tell.
  }
}
