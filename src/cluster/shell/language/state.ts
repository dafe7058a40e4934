import type { HeldMemory, SharedMemory } from "../process/memory-account.js";
import { DEFAULT_UMASK, ForkError, type Process } from "../process/process.js";
import type { ByteSink, ByteSource } from "../streams.js";
import type { FunctionDefNode } from "./syntax/ast.js";

export interface Variable {
  readonly value: string;
  readonly isExported: boolean;
  readonly isReadonly: boolean;
  /** for a large value: shared by all shells with a copy of the variable */
  readonly memory: SharedMemory | undefined;
}

/** A variable's former value. It stays in memory until it is restored. */
export interface Saved {
  readonly variable: Variable | undefined;
}

/** An open file of the shell: for reading, writing, or both. */
export interface Descriptor {
  readonly source?: ByteSource;
  readonly sink?: ByteSink;
}

/** `set -e` and the like, by letter. */
export type ShellOption = "e" | "u" | "x" | "f" | "n" | "a" | "pipefail";

/** Values of this length or more are shared when a shell forks; shorter ones count for each copy. */
const SHARED_LENGTH = 4096;
/** The memory of a variable in addition to its value, in bytes. */
const BYTES_PER_VARIABLE = 96;
/** The memory of a node of a syntax tree, in bytes. */
const BYTES_PER_NODE = 120;

/** The state of a shell between two commands. A subshell gets a copy. */
export class ShellState {
  readonly #variables = new Map<string, Variable>();
  readonly #functions = new Map<string, FunctionDefNode>();
  /** the memory of its process; undefined until the process runs */
  #memory: HeldMemory | undefined;
  /** its size there: short variables, functions and parameters */
  #heldBytes = 0;
  /** former values that still hold memory */
  readonly #saved = new Set<Saved>();
  /** a process that was killed may still run up to its next wait */
  #isReleased = false;
  readonly options = new Set<ShellOption>();
  readonly descriptors = new Map<number, Descriptor>();
  /** commands by signal; 0 is EXIT; an empty command ignores the signal */
  readonly traps = new Map<number, string>();
  readonly jobs = new Map<number, Process>();
  /** former values of local variables, restored when the function returns */
  readonly locals: Map<string, Saved>[] = [];
  /** texts by the names that they replace */
  readonly aliases = new Map<string, string>();
  /** the processor time of programs that it waited for */
  childNs = 0;
  /** `$1`, `$2`, ... */
  parameters: readonly string[] = [];
  #parameterBytes = 0;
  /** `$0` */
  name = "sh";
  /** whether it was started as bash, and not as the ash of busybox */
  isBash = false;
  /** `$$`: the PID of the shell, also in its subshells */
  shellPid = 1;
  lastStatus = 0;
  lastBackgroundPid: number | undefined;
  cwd = "/";
  umask = DEFAULT_UMASK;
  /** nesting depth of loops and functions, for break, continue and return */
  loopDepth = 0;
  functionDepth = 0;

  get variables(): ReadonlyMap<string, Variable> {
    return this.#variables;
  }

  get functions(): ReadonlyMap<string, FunctionDefNode> {
    return this.#functions;
  }

  /** Counts the state in the memory of its process from now on. @throws OutOfMemoryError */
  holdIn(memory: HeldMemory): void {
    this.#memory = memory;
    memory.onEnd(() => this.release());
    memory.countShared(() => this.#sharedBytes());
    memory.hold(this.#heldBytes);
  }

  /** Releases its share of memory shared with other shells. Its process has ended, or was never started. */
  release(): void {
    if (this.#isReleased) return;
    for (const variable of this.#variables.values()) variable.memory?.release();
    for (const { variable } of this.#saved) variable?.memory?.release();
    this.#isReleased = true;
  }

  #sharedBytes(): number {
    let bytes = 0;
    for (const variable of this.#variables.values()) bytes += variable.memory?.bytes ?? 0;
    for (const { variable } of this.#saved) bytes += variable?.memory?.bytes ?? 0;
    return bytes;
  }

  #hold(bytes: number): void {
    if (bytes > 0) this.#memory?.hold(bytes);
    else if (bytes < 0) this.#memory?.release(-bytes);
    this.#heldBytes += bytes;
  }

  get(name: string): string | undefined {
    return this.#variables.get(name)?.value;
  }

  /** @returns false if the variable is read-only @throws OutOfMemoryError */
  set(
    name: string,
    value: string,
    change: { readonly isExported?: boolean; readonly isReadonly?: boolean } = {},
  ): boolean {
    if (this.#isReleased) return true;
    const before = this.#variables.get(name);
    if (before?.isReadonly === true) return false;
    const isShared = value.length >= SHARED_LENGTH && this.#memory !== undefined;
    if (isShared) this.#memory?.requireText(value.length);
    this.#replace(name, before, {
      value,
      isExported: change.isExported ?? before?.isExported ?? this.options.has("a"),
      isReadonly: change.isReadonly ?? false,
      memory: isShared ? this.#memory?.share(value.length) : undefined,
    });
    return true;
  }

  unset(name: string): void {
    this.#replace(name, this.#variables.get(name), undefined);
  }

  #replace(name: string, before: Variable | undefined, after: Variable | undefined): void {
    if (this.#isReleased) return;
    try {
      this.#hold(ownBytes(name, after) - ownBytes(name, before));
    } catch (error) {
      after?.memory?.release();
      throw error;
    }
    before?.memory?.release();
    if (after === undefined) this.#variables.delete(name);
    else this.#variables.set(name, after);
  }

  /** Keeps a variable's value for `restore`. @throws OutOfMemoryError */
  save(name: string): Saved {
    const saved = { variable: this.#variables.get(name) };
    if (this.#isReleased) return saved;
    this.#hold(ownBytes(name, saved.variable));
    saved.variable?.memory?.retain();
    this.#saved.add(saved);
    return saved;
  }

  restore(name: string, saved: Saved): void {
    const { variable } = saved;
    this.#saved.delete(saved);
    this.#hold(-ownBytes(name, variable));
    this.#replace(name, this.#variables.get(name), variable);
  }

  /** @throws OutOfMemoryError */
  setFunction(node: FunctionDefNode): void {
    this.#hold(treeBytes(node) - treeBytes(this.#functions.get(node.name)));
    this.#functions.set(node.name, node);
  }

  unsetFunction(name: string): void {
    this.#hold(-treeBytes(this.#functions.get(name)));
    this.#functions.delete(name);
  }

  /** `set -- ...`: the words stay until the next change. @throws OutOfMemoryError */
  setParameters(words: readonly string[]): void {
    this.#hold(wordBytes(words) - this.#parameterBytes);
    this.#parameterBytes = wordBytes(words);
    this.parameters = words;
  }

  /** Remembers a background process, and forgets the oldest that have ended. */
  addJob(process: Process): void {
    this.jobs.set(process.pid, process);
    if (this.jobs.size <= MAX_JOBS) return;
    for (const [pid, { status }] of this.jobs) if (status !== undefined) this.jobs.delete(pid);
  }

  /** The environment of started programs. */
  environment(): Record<string, string> {
    const out: Record<string, string> = {};
    for (const [name, { value, isExported }] of this.#variables) if (isExported) out[name] = value;
    return out;
  }

  /** A copy for a subshell. Traps are not inherited, ignored signals are. */
  fork(): ShellState {
    const copy = new ShellState();
    for (const [name, variable] of this.#variables) {
      variable.memory?.retain();
      copy.#variables.set(name, variable);
    }
    for (const [name, body] of this.#functions) copy.#functions.set(name, body);
    copy.#heldBytes = this.#heldBytes;
    copy.#parameterBytes = this.#parameterBytes;
    for (const [name, text] of this.aliases) copy.aliases.set(name, text);
    for (const option of this.options) copy.options.add(option);
    for (const [fd, descriptor] of this.descriptors) copy.descriptors.set(fd, descriptor);
    for (const [signal, command] of this.traps) if (command === "" && signal !== 0) copy.traps.set(signal, command);
    copy.parameters = this.parameters;
    copy.name = this.name;
    copy.isBash = this.isBash;
    copy.shellPid = this.shellPid;
    copy.lastStatus = this.lastStatus;
    copy.lastBackgroundPid = this.lastBackgroundPid;
    copy.cwd = this.cwd;
    copy.umask = this.umask;
    copy.loopDepth = this.loopDepth;
    copy.functionDepth = this.functionDepth;
    return copy;
  }
}

/** Children that a shell remembers, as bash does (CHILD_MAX). */
const MAX_JOBS = 1024;

function ownBytes(name: string, variable: Variable | undefined): number {
  if (variable === undefined) return 0;
  return BYTES_PER_VARIABLE + name.length + (variable.memory === undefined ? variable.value.length : 0);
}

/** The memory of words in a command or in `$@`. */
export function wordBytes(words: readonly string[]): number {
  let bytes = 0;
  for (const word of words) bytes += word.length + 32;
  return bytes;
}

function treeBytes(node: FunctionDefNode | undefined): number {
  let count = 0;
  const todo: unknown[] = node === undefined ? [] : [node];
  for (let one = todo.pop(); one !== undefined; one = todo.pop()) {
    if (typeof one !== "object" || one === null) continue;
    count++;
    for (const value of Object.values(one)) if (typeof value === "object" && value !== null) todo.push(value);
  }
  return count * BYTES_PER_NODE;
}

/** `break`, `continue`, `return`, `exit`: thrown to leave the enclosing code. */
export class Leave extends Error {
  override readonly name = "Leave";
  constructor(
    readonly how: "break" | "continue" | "return" | "exit",
    /** the number of loops, or the status */
    public count: number,
  ) {
    super(how);
  }
}

/** ^C at an interactive shell: ends the current command, not the shell. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** An error that ends a non-interactive shell, reported already or not. */
export class ShellError extends Error {
  override readonly name = "ShellError";
  constructor(
    message: string,
    readonly status = 2,
  ) {
    super(message);
  }
}

/** The error of a shell whose container has too many processes, in busybox's words (shell/ash.c, forkshell). */
export function forkFailure(error: unknown): unknown {
  return error instanceof ForkError ? new ShellError("can't fork: Resource temporarily unavailable") : error;
}
