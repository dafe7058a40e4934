import { openForReading } from "../fs/open-file.js";
import { resolvePath } from "../fs/paths.js";
import { lookUp } from "../process/lookup.js";
import { exitCodeOf } from "../process/process.js";
import { parseSignal, SIGTERM, signalName } from "../process/signals.js";
import { readAll, readLine } from "../process/streams.js";
import { echoText } from "../programs/text.js";
import { evaluate } from "./arithmetic.js";
import { test } from "./conditional.js";
import { arithmeticContext } from "./expand.js";
import type { Interpreter } from "./interpreter.js";
import { formatPrintf } from "./printf.js";
import { enterFolder, runExternal } from "./simple-command.js";
import { Leave, ShellError, type ShellOption } from "./state.js";
import { EXIT } from "./traps.js";

/** A command that the shell runs itself. @returns its status */
export type Builtin = (args: readonly string[], shell: Interpreter) => Promise<number>;

/** Those whose errors end the shell, and whose assignments stay. */
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

export function isSpecialBuiltin(name: string): boolean {
  return SPECIAL.has(name);
}

export const BUILTINS: Readonly<Record<string, Builtin>> = {
  __proto__: null as never,
  ":": async () => 0,
  true: async () => 0,
  false: async () => 1,
  echo: async (args, shell) => {
    await shell.print(echoText(args));
    return 0;
  },
  printf: async (args, shell) => {
    if (args.length === 0) throw new ShellError("usage: printf FORMAT [ARG...]");
    const { text, status } = formatPrintf(args[0] as string, args.slice(1));
    await shell.sink(1).write(text, shell.signal);
    return status;
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
      if (!locals.has(name)) locals.set(name, shell.state.variables.get(name));
      shell.state.set(name, value ?? "");
    }
    return 0;
  },
  unset: async (args, { state }) => {
    for (const name of args.filter((arg) => !arg.startsWith("-"))) {
      if (state.variables.get(name)?.isReadonly === true) throw new ShellError(`${name}: is read only`);
      if (args[0] === "-f") state.functions.delete(name);
      else state.variables.delete(name);
    }
    return 0;
  },
  shift: async (args, { state }) => {
    const by = args[0] === undefined ? 1 : Number(args[0]);
    if (by > state.parameters.length) return 1;
    state.parameters = state.parameters.slice(by);
    return 0;
  },
  set: setOptions,
  eval: async (args, shell) => shell.runText(args.join(" ")),
  ".": source,
  source,
  trap,
  wait,
  kill,
  jobs: async (_args, shell) => {
    for (const [pid, job] of shell.state.jobs) {
      if (job.status === undefined) await shell.print(`[${pid}] Running   ${job.argv.join(" ")}\n`);
    }
    return 0;
  },
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
  hash: async () => 0,
  umask: async (args, shell) => {
    if (args.length === 0) await shell.print("0022\n");
    return 0;
  },
  ulimit: async (args, shell) => {
    if (args.length < 2) await shell.print("unlimited\n");
    return 0;
  },
};

function count(args: readonly string[]): number {
  const number = Number(args[0] ?? 1);
  if (!Number.isInteger(number) || number < 1) throw new ShellError(`bad number: ${args[0]}`);
  return number;
}

function statusOf(text: string | undefined, last: number): number {
  if (text === undefined) return last;
  if (!/^-?\d+$/.test(text)) throw new ShellError(`Illegal number: ${text}`);
  return Number(text) & 0xff;
}

async function cd(args: readonly string[], shell: Interpreter): Promise<number> {
  const { state } = shell;
  const wanted = args.find((arg) => arg === "-" || !arg.startsWith("-")) ?? state.get("HOME") ?? "/";
  const target = wanted === "-" ? (state.get("OLDPWD") ?? state.cwd) : wanted;
  try {
    const path = enterFolder(target, shell);
    state.set("OLDPWD", state.cwd);
    state.cwd = path;
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
  shell: Interpreter,
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

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const OPTION_NAMES: Readonly<Record<string, ShellOption>> = {
  errexit: "e",
  nounset: "u",
  xtrace: "x",
  noglob: "f",
  noexec: "n",
  allexport: "a",
  pipefail: "pipefail",
};

async function setOptions(args: readonly string[], shell: Interpreter): Promise<number> {
  const { state } = shell;
  if (args.length === 0) {
    for (const [name, { value }] of [...state.variables].sort(([a], [b]) => (a < b ? -1 : 1))) {
      await shell.print(`${name}=${quote(value)}\n`);
    }
    return 0;
  }
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === "--") {
      state.parameters = args.slice(at + 1);
      return 0;
    }
    if (!/^[-+]./.test(arg)) {
      state.parameters = args.slice(at);
      return 0;
    }
    for (const letter of arg.slice(1)) {
      const option = letter === "o" ? OPTION_NAMES[args[++at] ?? ""] : (letter as ShellOption);
      // Options that change nothing here (-m, -b, -h, ...) are taken without a word.
      if (option === undefined) continue;
      if (arg.startsWith("-")) state.options.add(option);
      else state.options.delete(option);
    }
  }
  return 0;
}

async function source(args: readonly string[], shell: Interpreter): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined) throw new ShellError("filename argument required");
  const path = resolvePath(shell.state.cwd, name);
  const text = await readAll(openForReading(shell.files, path, shell.random), shell.signal);
  const { parameters } = shell.state;
  if (rest.length > 0) shell.state.parameters = rest;
  try {
    return await shell.runText(text.toString());
  } catch (error) {
    if (!(error instanceof Leave) || error.how !== "return") throw error;
    return error.count;
  } finally {
    shell.state.parameters = parameters;
  }
}

async function trap(args: readonly string[], shell: Interpreter): Promise<number> {
  const names = args[0] === "--" ? args.slice(1) : args;
  if (names.length === 0 || names[0] === "-p") {
    for (const [signal, command] of shell.state.traps) {
      await shell.print(`trap -- ${quote(command)} ${signal === EXIT ? "EXIT" : signalName(signal).slice(3)}\n`);
    }
    return 0;
  }
  // `trap TERM` and `trap 15` are `trap - TERM`.
  const [first, ...rest] = names;
  const isReset = rest.length === 0 || first === "-";
  const signals = rest.length === 0 ? names : rest;
  for (const name of signals) {
    const signal = /^(0|EXIT)$/i.test(name) ? EXIT : parseSignal(name);
    if (signal === undefined) {
      await shell.complain(`trap: ${name}: invalid signal specification`);
      return 1;
    }
    shell.traps.set(signal, isReset ? undefined : first);
  }
  return 0;
}

/** `wait [PID...]`: a trapped signal interrupts it, and its status is then 128 and more. */
async function wait(args: readonly string[], shell: Interpreter): Promise<number> {
  const { jobs } = shell.state;
  const pids = args.length === 0 ? [...jobs.keys()] : args.map((arg) => Number(arg.replace(/^%/, "")));
  let status = 0;
  for (const pid of pids) {
    const job = jobs.get(pid);
    if (job === undefined) {
      status = 127;
      continue;
    }
    const signal = await shell.traps.orSignal(job.exited);
    if (signal !== undefined) return 128 + signal;
    status = exitCodeOf(await job.exited);
    jobs.delete(pid);
  }
  return args.length === 0 ? 0 : status;
}

async function kill(args: readonly string[], shell: Interpreter): Promise<number> {
  const rest = [...args];
  if (rest[0] === "-l") {
    await shell.print(`${Array.from({ length: 31 }, (_, index) => signalName(index + 1).slice(3)).join(" ")}\n`);
    return 0;
  }
  let signal: number | undefined = SIGTERM;
  if (rest[0] === "-s") signal = parseSignal(rest.splice(0, 2)[1] ?? "");
  else if (/^-[A-Za-z0-9]/.test(rest[0] ?? "") && rest.length > 1) {
    const text = (rest.shift() as string).slice(1);
    signal = text === "0" ? 0 : parseSignal(text);
  }
  if (signal === undefined) throw new ShellError("bad signal name", 1);
  let status = 0;
  for (const arg of rest) {
    const process = shell.self.machine.processes.find(Number(arg.replace(/^%/, "")));
    if (process === undefined) {
      await shell.complain(`kill: can't kill pid ${arg}: No such process`);
      status = 1;
    } else if (signal !== 0) process.kill(signal);
  }
  return status;
}

/** `read [-r] [-p PROMPT] [-t SECONDS] [NAME...]` */
async function read(args: readonly string[], shell: Interpreter): Promise<number> {
  const names: string[] = [];
  let isRaw = false;
  let timeoutMs: number | undefined;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === "-r") isRaw = true;
    else if (arg === "-p") await shell.print(args[++at] ?? "", 2);
    else if (arg === "-t") timeoutMs = Number(args[++at]) * 1000;
    else if (!arg.startsWith("-")) names.push(arg);
  }
  const over = new AbortController();
  const { clock } = shell.self.machine;
  if (timeoutMs !== undefined)
    void clock.sleep(timeoutMs, AbortSignal.any([over.signal, shell.signal])).then(
      () => over.abort(),
      () => {},
    );
  const line = readLine(shell.source(0), AbortSignal.any([over.signal, shell.signal])).catch(() => undefined);
  const signal = await shell.traps.orSignal(line);
  const bytes = signal === undefined ? await line : undefined;
  over.abort();
  if (shell.signal.aborted) throw shell.signal.reason;
  if (bytes === undefined) {
    for (const name of names) shell.state.set(name, "");
    return signal === undefined ? 1 : 128 + signal;
  }
  const text = bytes.toString();
  assignFields(isRaw ? text.replace(/\n$/, "") : text.replace(/\n$/, "").replace(/\\(.)/gs, "$1"), names, shell);
  return text.endsWith("\n") ? 0 : 1;
}

function assignFields(text: string, names: readonly string[], shell: Interpreter): void {
  const ifs = shell.state.get("IFS") ?? " \t\n";
  if (names.length === 0) {
    shell.state.set("REPLY", text);
    return;
  }
  const isSeparator = (char: string) => ifs.includes(char);
  let rest = text;
  names.forEach((name, index) => {
    while (rest !== "" && /[ \t\n]/.test(rest.charAt(0)) && isSeparator(rest.charAt(0))) rest = rest.slice(1);
    if (index === names.length - 1) {
      let end = rest.length;
      while (end > 0 && /[ \t\n]/.test(rest.charAt(end - 1)) && isSeparator(rest.charAt(end - 1))) end--;
      shell.state.set(name, rest.slice(0, end));
      return;
    }
    let end = 0;
    while (end < rest.length && !isSeparator(rest.charAt(end))) end++;
    shell.state.set(name, rest.slice(0, end));
    rest = rest.slice(end + 1);
  });
}

async function type(args: readonly string[], shell: Interpreter): Promise<number> {
  return whereIs(args, shell, (name, what) => `${name} is ${what}\n`);
}

async function whereIs(
  names: readonly string[],
  shell: Interpreter,
  line: (name: string, what: string) => string,
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
        status = 127; // not found: the status says so, as in any shell
      }
    }
  }
  return status;
}

async function getopts(args: readonly string[], shell: Interpreter): Promise<number> {
  const [spec = "", variable = "", ...given] = args;
  const { state } = shell;
  const words = given.length > 0 ? given : state.parameters;
  let index = Number(state.get("OPTIND") ?? 1);
  let offset = Number(state.get("_OPTOFFSET") ?? 1);
  const word = words[index - 1];
  if (word === undefined || !/^-./.test(word) || word === "--") {
    state.set(variable, "?");
    if (word === "--") state.set("OPTIND", String(index + 1));
    return 1;
  }
  const letter = word.charAt(offset);
  const place = letter === ":" ? -1 : spec.indexOf(letter);
  offset++;
  if (place >= 0 && spec[place + 1] === ":") {
    const attached = word.slice(offset);
    if (attached === "") index++;
    state.set("OPTARG", attached === "" ? (words[index - 1] ?? "") : attached);
    offset = word.length;
  }
  if (offset >= word.length) {
    index++;
    offset = 1;
  }
  state.set("OPTIND", String(index));
  state.set("_OPTOFFSET", String(offset));
  state.set(variable, place < 0 ? "?" : letter);
  if (place < 0 && !spec.startsWith(":")) await shell.complain(`illegal option -${letter}`);
  return 0;
}
