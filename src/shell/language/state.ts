import type { Process } from "../process/process.js";
import type { ByteSink, ByteSource } from "../process/streams.js";
import type { FunctionDefNode } from "./ast.js";

export interface Variable {
  readonly value: string;
  readonly isExported: boolean;
  readonly isReadonly: boolean;
}

/** An open file of the shell: to read from, to write to, or both. */
export interface Descriptor {
  readonly source?: ByteSource;
  readonly sink?: ByteSink;
}

/** `set -e` and the like, by letter. */
export type ShellOption = "e" | "u" | "x" | "f" | "n" | "a" | "pipefail";

/** What a shell knows between two commands. A subshell gets a copy. */
export class ShellState {
  readonly variables = new Map<string, Variable>();
  readonly functions = new Map<string, FunctionDefNode>();
  readonly options = new Set<ShellOption>();
  readonly descriptors = new Map<number, Descriptor>();
  /** commands by signal; 0 is EXIT; an empty command: ignored */
  readonly traps = new Map<number, string>();
  readonly jobs = new Map<number, Process>();
  /** variables to put back when the function that made them local returns */
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
  /** how deep in loops and functions: what break, continue and return refer to */
  loopDepth = 0;
  functionDepth = 0;

  get(name: string): string | undefined {
    return this.variables.get(name)?.value;
  }

  /** @returns false for a read-only variable */
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

  /** What programs that are started get. */
  environment(): Record<string, string> {
    const out: Record<string, string> = {};
    for (const [name, { value, isExported }] of this.variables) if (isExported) out[name] = value;
    return out;
  }

  /** A subshell's own. Traps are not inherited, but what is ignored stays so. */
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

/** `break`, `continue`, `return`, `exit`: how they leave what they are in. */
export class Leave extends Error {
  override readonly name = "Leave";
  constructor(
    readonly how: "break" | "continue" | "return" | "exit",
    /** of how many loops, or the status */
    public count: number,
  ) {
    super(how);
  }
}

/** ^C at an interactive shell: ends what it does, and not the shell. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** An error that ends a shell which is not interactive: said already, or to be said. */
export class ShellError extends Error {
  override readonly name = "ShellError";
  constructor(
    message: string,
    readonly status = 2,
  ) {
    super(message);
  }
}
