import type { Clock } from "../../../util/clock.js";
import { assertNever } from "../../../util/errors.js";
import type { Random } from "../../../util/random.js";
import type { ContainerFs } from "../fs/container-fs.js";
import { failureText } from "../fs/fs-error.js";
import { BrokenPipeError, type ByteSink, type ByteSource } from "../streams.js";
import type { Confinement } from "./confinement.js";
import { type CpuTime, NS_PER_UNIT } from "./cpu.js";
import { HeldMemory, type MemoryAccount, OutOfMemoryError } from "./memory-account.js";
import type { NetworkNamespace } from "./network-namespace.js";
import type { ProcessTable, ProgramFile } from "./process-table.js";
import { endsByDefault, SIGKILL, SIGPIPE, SIGSEGV } from "./signals.js";

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
  /** the permission bits that its new files do not get; default: `DEFAULT_UMASK` */
  readonly umask?: number;
}

/** The umask of a container's first process, from containerd. */
export const DEFAULT_UMASK = 0o022;

/** A program's own process: everything that the program can access. */
export interface Self extends Invocation {
  readonly pid: number;
  readonly umask: number;
  /** aborts when the process is killed; every wait must take it */
  readonly signal: AbortSignal;
  readonly machine: Machine;
  /** its part of the container's memory */
  readonly memory: HeldMemory;
  /**
   * Counts work and yields to others. Every loop that can run long without another wait must call it.
   * @param units one is a simple command; default 1
   * @returns undefined to continue at once
   * @throws an AbortError once the process has been killed
   */
  turn(units?: number): Promise<void> | undefined;
  onSignal(signal: number, handler: SignalHandler): void;
  /** Changes the folder in /proc/PID/cwd. */
  chdir(cwd: string): void;
  /**
   * Replaces the program, as after exec: signal handlers are reset, ignored signals stay ignored.
   * @param machine of another user
   * @param program default: the same, under another title
   */
  become(argv: readonly string[], machine?: Machine, program?: ProgramFile): void;
}

export interface SpawnOptions extends Invocation {
  /** the parent process; 0: the runtime */
  readonly parentPid: number;
  /** the process group to join; `new`: a new one; default: its parent's */
  readonly group?: number | "new";
}

/** The user of a process. */
export interface ProcessUser {
  readonly uid: number;
  readonly gid: number;
  /** all groups, including the primary one */
  readonly groups: readonly number[];
  readonly name: string;
}

/** Files of the kernel by name: each has its content when it is read, without the last newline. */
export type KernelFiles = Readonly<Record<string, () => string>>;

/** The node, as its containers see it. */
export interface NodeFacts {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly usedBytes: () => number;
  /** Unix ms */
  readonly startedMs: number;
}

/** What the containers of a pod share besides its network. */
export interface UtsNamespace {
  hostname: string;
}

/** The shared environment of a container's processes. */
export interface Machine {
  readonly fs: ContainerFs;
  readonly clock: Clock;
  readonly random: Random;
  readonly uts: UtsNamespace;
  readonly user: ProcessUser;
  readonly confinement: Confinement;
  readonly node: NodeFacts;
  /** the files of its cgroup */
  readonly cgroup: KernelFiles;
  /** the processes that its own ones see */
  readonly processes: ProcessTable;
  /** the running processes of this container, the youngest last */
  readonly own: ReadonlySet<Process>;
  /** the pod's network, or the node's for a pod that uses it */
  readonly network: NetworkNamespace;
  /** the container's memory in use */
  readonly memory: MemoryAccount;
  readonly cpu: CpuTime;
  /**
   * Starts the program `argv[0]`.
   * @throws SpawnError if it does not exist or cannot run
   */
  spawn(options: SpawnOptions): Process;
  /** Our program with this name, as executable files and images name it. */
  findProgram(name: string): Program | undefined;
  /** The same machine for processes of another user. */
  asUser(user: ProcessUser): Machine;
  /** The same machine for processes with another root folder; undefined for one that is not in a mount. @throws FsError */
  inRoot(path: string): Machine | undefined;
  /** Starts a process of an already running program: a subshell, a part of a pipeline. */
  fork(program: Program, options: SpawnOptions): Process;
}

/** A program that cannot start: 127 not found, 126 not executable. */
export class SpawnError extends Error {
  override readonly name = "SpawnError";
  constructor(
    readonly exitCode: 126 | 127,
    readonly command: string,
    /** the text of execve's errno: `no such file or directory`, `permission denied` */
    readonly reason: string,
    /** whether a file was found but cannot be executed: the error then comes from the kernel, not from the search */
    readonly path?: string,
  ) {
    super(`${command}: ${reason}`);
  }
}

/** The container has reached its limit of processes. */
export class ForkError extends SpawnError {
  constructor(command: string) {
    super(126, command, "resource temporarily unavailable");
  }
}

/** A recursion is too deep. The process ends as on Linux, where its stack overflows. */
export class StackOverflowError extends Error {
  override readonly name = "StackOverflowError";
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
  readonly program: ProgramFile;
  /** the size of its arguments and environment */
  readonly argumentBytes?: number;
}

/** The reason that aborts the waits of a killed process. Created once, because an error collects its stack. */
const KILLED = new DOMException("the process has ended", "AbortError");

/** The memory of a process without its data, as for a kernel's stack and tables. */
const BASE_BYTES = 8192;

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
  readonly memory: HeldMemory;
  readonly startedMs: number;
  program: ProgramFile;
  cwd: string;
  #units = 0;
  /** CPU time besides its own work: what the runtime simulates for a container's first process */
  simulatedNs: () => number = () => 0;

  /** Without memory for it, the process has been killed before it runs. */
  constructor(
    program: Program,
    public machine: Machine,
    options: ProcessOptions,
  ) {
    this.pid = options.pid;
    this.parentPid = options.parentPid;
    this.group = options.group;
    this.#argv = options.argv;
    this.#isInit = options.isInit;
    this.startedMs = machine.clock.now();
    this.program = options.program;
    this.cwd = options.cwd;
    this.exited = new Promise((resolve) => {
      this.#end = resolve;
    });
    const { stdin, stdout, stderr } = options;
    this.streams = [stdin, stdout, stderr];
    for (const stream of this.streams) stream.retain();
    this.memory = new HeldMemory(machine.memory, this.pid, () => this.kill(SIGKILL));
    if (!this.#isAllocated(BASE_BYTES + (options.argumentBytes ?? 0))) return;
    const signal = () => this.#signal();
    const isOver = () => this.#status !== undefined;
    const stopIfOver = () => {
      if (isOver()) throw KILLED;
    };
    const self: Self = {
      argv: options.argv,
      env: options.env,
      cwd: options.cwd,
      pid: options.pid,
      stdin,
      stdout,
      stderr,
      umask: options.umask ?? DEFAULT_UMASK,
      get signal() {
        return signal();
      },
      machine,
      memory: this.memory,
      turn: (units = 1) => {
        this.#units += units;
        return machine.cpu.turn(units, isOver)?.then(stopIfOver);
      },
      onSignal: (signal, handler) => {
        this.#handlers.set(signal, handler);
      },
      chdir: (cwd) => {
        this.cwd = cwd;
      },
      become: (argv, other = machine, program = this.program) => {
        this.#argv = argv;
        this.program = program;
        this.machine = other;
        for (const [signal, handler] of this.#handlers) if (handler !== "ignore") this.#handlers.delete(signal);
      },
    };
    // Deferred until the process table has the process, because `ps` lists itself.
    queueMicrotask(() => void this.#run(program, self));
  }

  #isAllocated(bytes: number): boolean {
    try {
      this.memory.hold(bytes);
      return true;
    } catch (error) {
      if (!(error instanceof OutOfMemoryError)) throw error;
      this.kill(SIGKILL);
      return false;
    }
  }

  get cpuNs(): number {
    return this.#units * NS_PER_UNIT + this.simulatedNs();
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
      else if (error instanceof OutOfMemoryError) this.#finish({ kind: "signaled", signal: SIGKILL });
      else if (isStackOverflow(error)) this.#finish({ kind: "signaled", signal: SIGSEGV });
      else if (this.#status === undefined) {
        // An exception in a program is a bug of ours; the container sees a crash, and the log the reason.
        await say(self, `${this.argv[0]}: ${failureText(error)}\n`);
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
    // A job of its parent may keep this object, which must not keep its shell alive.
    this.#handlers.clear();
    this.memory.end();
    for (const stream of this.streams) stream.release();
    this.#end(status);
  }

  /**
   * Sends a signal, as the node does.
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

  /**
   * Sends a signal, as a process of the same container does: the first process of a PID namespace ignores even SIGKILL.
   * Mirrors kernel/signal.c (sig_task_ignored).
   */
  signalFromInside(signal: number): void {
    if (!(this.#isInit && signal === SIGKILL)) this.kill(signal);
  }

  /** Ends the process with a given result, for actions of the kernel or the learner. */
  endAs(status: ExitStatus): void {
    this.#finish(status);
  }
}

function isStackOverflow(error: unknown): boolean {
  return error instanceof StackOverflowError || (error instanceof RangeError && /call stack/i.test(error.message));
}

async function say(self: Self, text: string): Promise<void> {
  try {
    await self.stderr.write(Buffer.from(text), self.signal);
  } catch {
    // Its stderr is closed as well, so there is nothing to report to.
  }
}
