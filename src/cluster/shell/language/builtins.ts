import { changedMode, lettersOf, octal } from "../fs/mode.js";
import { lookUp } from "../process/lookup.js";
import { MAX_OPEN_FILES } from "../process/proc-process.js";
import { isProcess } from "../process/process-table.js";
import { test } from "./conditional.js";
import { echoBytes } from "./echo.js";
import { evaluate } from "./expansion/arithmetic.js";
import { arithmeticContext } from "./expansion/expand.js";
import { enterFolder, runExternal } from "./external.js";
import { getopts, read, source } from "./input.js";
import { jobs, kill, trap, wait } from "./jobs.js";
import { setOptions } from "./options.js";
import { runPrintf } from "./printf.js";
import type { Shell } from "./shell.js";
import { Leave, ShellError } from "./state.js";
import { quote } from "./syntax/quote.js";

/** A command inside the shell. @returns its status */
export type Builtin = (args: readonly string[], shell: Shell) => Promise<number>;

/** Builtins whose errors end the shell, and whose assignments stay. */
const SPECIAL = new Set([
  ":",
  ".",
  "break",
  "continue",
  "eval",
  "exec",
  "exit",
  "export",
  "readonly",
  "return",
  "set",
  "shift",
  "trap",
  "unset",
]);

/** Whether POSIX lists it as a special builtin. */
export function isSpecialBuiltin(name: string): boolean {
  return SPECIAL.has(name);
}

export const BUILTINS: Readonly<Record<string, Builtin>> = {
  __proto__: null as never,
  ":": async () => 0,
  true: async () => 0,
  false: async () => 1,
  echo: async (args, shell) => {
    await shell.sink(1).write(echoBytes(args), shell.signal);
    return 0;
  },
  printf: async (args, shell) => {
    const [format, ...rest] = args[0] === "--" ? args.slice(1) : args;
    if (format === undefined) {
      await shell.complain("usage: printf FORMAT [ARGUMENT...]");
      return 2;
    }
    const write = (bytes: Buffer) => shell.sink(1).write(bytes, shell.signal);
    return runPrintf(format, rest, { self: shell.self, write, complain: (text) => shell.complain(text) });
  },
  test: async (args, shell) => Number(!test(args, shell)),
  "[": async (args, shell) => {
    if (args.at(-1) !== "]") throw new ShellError("missing ]");
    return Number(!test(args.slice(0, -1), shell));
  },
  break: async (args) => {
    throw new Leave("break", count(args));
  },
  continue: async (args) => {
    throw new Leave("continue", count(args));
  },
  exit: async (args, { state }) => {
    throw new Leave("exit", statusOf(args[0], state.lastStatus));
  },
  return: async (args, { state }) => {
    throw new Leave("return", statusOf(args[0], state.lastStatus));
  },
  cd,
  pwd: async (_args, shell) => {
    await shell.print(`${shell.state.cwd}\n`);
    return 0;
  },
  export: async (args, shell) => declare(args, shell, { isExported: true }),
  readonly: async (args, shell) => declare(args, shell, { isReadonly: true }),
  local: async (args, shell) => {
    const locals = shell.state.locals.at(-1);
    if (locals === undefined) throw new ShellError("not in a function");
    for (const arg of args) {
      const [, name = "", value] = /^([^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
      if (!locals.has(name)) locals.set(name, shell.state.save(name));
      shell.state.set(name, value ?? "");
    }
    return 0;
  },
  unset: async (args, { state }) => {
    for (const name of args.filter((arg) => !arg.startsWith("-"))) {
      if (!/^[A-Za-z_]\w*$/.test(name) && args[0] !== "-f") throw new ShellError(`${name}: bad variable name`);
      if (state.variables.get(name)?.isReadonly === true) throw new ShellError(`${name}: is read only`);
      if (args[0] === "-f") state.unsetFunction(name);
      else state.unset(name);
    }
    return 0;
  },
  shift: async (args, { state }) => {
    const by = args[0] === undefined ? 1 : Number(args[0]);
    if (!Number.isInteger(by) || by < 0) throw new ShellError(`Illegal number: ${args[0]}`);
    if (by > state.parameters.length) return 1;
    state.setParameters(state.parameters.slice(by));
    return 0;
  },
  set: setOptions,
  eval: async (args, shell) => shell.runText(args.join(" ")),
  ".": source,
  source,
  trap,
  wait,
  kill,
  jobs,
  read,
  let: async (args, shell) => {
    let value = 0n;
    for (const arg of args) value = await evaluate(shell.parseArithmetic(arg), arithmeticContext(shell));
    return Number(value === 0n);
  },
  type,
  command: async (args, shell) => {
    if (args[0] === "-v" || args[0] === "-V") return whereIs(args.slice(1), shell, (name) => `${name}\n`);
    const [name, ...rest] = args[0] === "-p" ? args.slice(1) : args;
    if (name === undefined) return 0;
    const builtin = BUILTINS[name];
    return builtin === undefined ? runExternal([name, ...rest], shell, false) : builtin(rest, shell);
  },
  getopts,
  alias,
  unalias,
  times: async (_args, shell) => {
    const { self, state } = shell;
    const own = self.machine.processes.find(self.pid);
    const text = (ns: number) => `${Math.floor(ns / 60e9)}m${((ns % 60e9) / 1e9).toFixed(3)}s 0m0.000s\n`;
    await shell.print(`${text(own !== undefined && isProcess(own) ? own.cpuNs : 0)}${text(state.childNs)}`);
    return 0;
  },
  hash: async () => 0,
  umask: async (args, shell) => {
    const [mode] = args.filter((arg) => arg !== "-S");
    const { state } = shell;
    if (mode === undefined) {
      const [user, group, other] = [6, 3, 0].map((shift) => lettersOf(~state.umask >> shift));
      const shown = args.length > 0 ? `u=${user},g=${group},o=${other}` : octal(state.umask);
      await shell.print(`${shown}\n`);
      return 0;
    }
    const changed = changedMode(mode, /^[0-7]/.test(mode) ? state.umask : ~state.umask & 0o777, {
      isFolder: false,
      umask: 0,
    });
    if (changed === undefined) throw new ShellError(`illegal mode: ${mode}`);
    state.umask = (/^[0-7]/.test(mode) ? changed : ~changed) & 0o777;
    return 0;
  },
  ulimit: async ([first = "-f", ...more], shell) => {
    if (more.length > 0) return 0; // a limit is set
    const shown = LIMITS.filter(([, letter]) => first === "-a" || first === `-${letter}`);
    if (shown.length === 0) throw new ShellError(`invalid option -- '${first.replace("-", "")}'`);
    const line = ([what, letter, value]: (typeof LIMITS)[number]) =>
      first === "-a" ? `${what.padEnd(32)}(-${letter}) ${value}\n` : `${value}\n`;
    await shell.print(shown.map(line).join(""));
    return 0;
  },
};

/** The limits of a container's processes, as containerd.service has them. */
const LIMITS: readonly (readonly [what: string, letter: string, value: string | number])[] = [
  ["core file size (blocks)", "c", "unlimited"],
  ["data seg size (kb)", "d", "unlimited"],
  ["scheduling priority", "e", 0],
  ["file size (blocks)", "f", "unlimited"],
  ["max locked memory (kb)", "l", 8192],
  ["max memory size (kb)", "m", "unlimited"],
  ["open files", "n", MAX_OPEN_FILES],
  ["POSIX message queues (bytes)", "q", 819_200],
  ["real-time priority", "r", 0],
  ["stack size (kb)", "s", 8192],
  ["cpu time (seconds)", "t", "unlimited"],
  ["max user processes", "u", "unlimited"],
  ["virtual memory (kb)", "v", "unlimited"],
  ["file locks", "x", "unlimited"],
];

/** `alias [NAME[=TEXT]...]` */
async function alias(args: readonly string[], shell: Shell): Promise<number> {
  const { aliases } = shell.state;
  const line = (name: string) => `${name}='${(aliases.get(name) ?? "").replaceAll("'", "'\\''")}'\n`;
  let status = 0;
  if (args.length === 0) await shell.print([...aliases.keys()].map(line).join(""));
  for (const arg of args) {
    const [, name = "", text] = /^([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
    if (text !== undefined) aliases.set(name, text);
    else if (aliases.has(arg)) await shell.print(line(arg));
    else {
      await shell.print(`alias: ${arg} not found\n`, 2);
      status = 1;
    }
  }
  return status;
}

/** `unalias -a`, `unalias NAME...` */
async function unalias(args: readonly string[], shell: Shell): Promise<number> {
  const { aliases } = shell.state;
  if (args[0] === "-a") aliases.clear();
  let status = 0;
  for (const name of args.filter((arg) => arg !== "-a" && !aliases.delete(arg))) {
    await shell.print(`unalias: ${name} not found\n`, 2);
    status = 1;
  }
  return status;
}

function count(args: readonly string[]): number {
  const number = Number(args[0] ?? 1);
  if (!Number.isInteger(number) || number < 1) throw new ShellError(`Illegal number: ${args[0]}`);
  return number;
}

function statusOf(text: string | undefined, last: number): number {
  if (text === undefined) return last;
  if (!/^-?\d+$/.test(text)) throw new ShellError(`Illegal number: ${text}`);
  return Number(text) & 0xff;
}

async function cd(args: readonly string[], shell: Shell): Promise<number> {
  const { state } = shell;
  const wanted = args.find((arg) => arg === "-" || !arg.startsWith("-")) ?? state.get("HOME") ?? "/";
  const target = wanted === "-" ? (state.get("OLDPWD") ?? state.cwd) : wanted;
  try {
    const path = enterFolder(target, shell);
    state.set("OLDPWD", state.cwd);
    state.cwd = path;
    shell.self.chdir(path);
    state.set("PWD", path);
  } catch (error) {
    await shell.complain(
      `cd: can't cd to ${target}: ${error instanceof Error && "text" in error ? error.text : error}`,
    );
    return 1;
  }
  if (wanted === "-") await shell.print(`${state.cwd}\n`);
  return 0;
}

async function declare(
  args: readonly string[],
  shell: Shell,
  change: { readonly isExported?: boolean; readonly isReadonly?: boolean },
): Promise<number> {
  const { state } = shell;
  const names = args.filter((arg) => arg !== "-p" && arg !== "--");
  if (names.length === 0) {
    const word = change.isExported === true ? "export" : "readonly";
    for (const [name, variable] of [...state.variables].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (change.isExported === true ? variable.isExported : variable.isReadonly) {
        await shell.print(`${word} ${name}=${quote(variable.value)}\n`);
      }
    }
    return 0;
  }
  for (const arg of names) {
    const [, name = "", value] = /^([^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (!/^[A-Za-z_]\w*$/.test(name)) throw new ShellError(`${name}: bad variable name`);
    if (value === undefined && state.get(name) === undefined) continue;
    if (!state.set(name, value ?? state.get(name) ?? "", change)) throw new ShellError(`${name}: is read only`);
  }
  return 0;
}

async function type(args: readonly string[], shell: Shell): Promise<number> {
  return whereIs(
    args,
    shell,
    (name, what) => `${name} is ${what}\n`,
    (name) => `${name}: not found\n`,
  );
}

async function whereIs(
  names: readonly string[],
  shell: Shell,
  line: (name: string, what: string) => string,
  missing = (_name: string) => "",
): Promise<number> {
  let status = 0;
  for (const name of names) {
    if (shell.state.functions.has(name)) await shell.print(line(name, "a shell function"));
    else if (BUILTINS[name] !== undefined) await shell.print(line(name, "a shell builtin"));
    else {
      try {
        const { path } = lookUp(shell.files, name, shell.state.cwd, shell.state.get("PATH"));
        await shell.print(line(path, path));
      } catch {
        status = 127;
        await shell.print(missing(name));
      }
    }
  }
  return status;
}
