import type { Process } from "../process/process.js";
import type { ByteSink, ByteSource } from "../process/streams.js";
import type { FunctionDefNode } from "./ast.js";

export interface Variable {
  readonly value: string;
  readonly isExported: boolean;
  readonly isReadonly: boolean;
}

/** An open file of the shell: for reading, writing, or both. */
export interface Descriptor {
  readonly source?: ByteSource;
  readonly sink?: ByteSink;
}

/** `set -e` and the like, by letter. */
export type ShellOption = "e" | "u" | "x" | "f" | "n" | "a" | "pipefail";

/** The state of a shell between two commands. A subshell gets a copy. */
export class ShellState {
  readonly variables = new Map<string, Variable>();
  readonly functions = new Map<string, FunctionDefNode>();
  readonly options = new Set<ShellOption>();
  readonly descriptors = new Map<number, Descriptor>();
  /** commands by signal; 0 is EXIT; an empty command ignores the signal */
  readonly traps = new Map<number, string>();
  readonly jobs = new Map<number, Process>();
  /** former values of local variables, restored when the function returns */
  readonly locals: Map<string, Variable | undefined>[] = [];
  /** `$1`, `$2`, ... */
  parameters: readonly string[] = [];
  /** `$0` */
  name = "sh";
  /** `$$`: the PID of the shell, also in its subshells */
  shellPid = 1;
  lastStatus = 0;
  lastBackgroundPid: number | undefined;
  cwd = "/";
  /** nesting depth of loops and functions, for break, continue and return */
  loopDepth = 0;
  functionDepth = 0;

  get(name: string): string | undefined {
    return this.variables.get(name)?.value;
  }

  /** @returns false if the variable is read-only */
  set(
    name: string,
    value: string,
    change: { readonly isExported?: boolean; readonly isReadonly?: boolean } = {},
  ): boolean {
    const before = this.variables.get(name);
    if (before?.isReadonly === true) return false;
    this.variables.set(name, {
      value,
      isExported: change.isExported ?? before?.isExported ?? this.options.has("a"),
      isReadonly: change.isReadonly ?? false,
    });
    return true;
  }

  /** The environment of started programs. */
  environment(): Record<string, string> {
    const out: Record<string, string> = {};
    for (const [name, { value, isExported }] of this.variables) if (isExported) out[name] = value;
    return out;
  }

  /** A copy for a subshell. Traps are not inherited, ignored signals are. */
  fork(): ShellState {
    const copy = new ShellState();
    for (const [name, variable] of this.variables) copy.variables.set(name, variable);
    for (const [name, body] of this.functions) copy.functions.set(name, body);
    for (const option of this.options) copy.options.add(option);
    for (const [fd, descriptor] of this.descriptors) copy.descriptors.set(fd, descriptor);
    for (const [signal, command] of this.traps) if (command === "" && signal !== 0) copy.traps.set(signal, command);
    copy.parameters = this.parameters;
    copy.name = this.name;
    copy.shellPid = this.shellPid;
    copy.lastStatus = this.lastStatus;
    copy.lastBackgroundPid = this.lastBackgroundPid;
    copy.cwd = this.cwd;
    copy.loopDepth = this.loopDepth;
    copy.functionDepth = this.functionDepth;
    return copy;
  }
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
