import { baseName } from "../../fs/paths.js";
import { killArguments } from "../../process/kill-arguments.js";
import type { Self } from "../../process/process.js";
import { commandOf, sendSignal, type Task } from "../../process/process-table.js";
import { parseSignal, SIGTERM, signalList } from "../../process/signals.js";
import { complain, fail, parseArgs, print, usage } from "../console.js";

/** Programs that find processes by their numbers and names. */

/** The other processes with this command. */
function named({ machine, pid: own }: Self, matches: (task: Task) => boolean): readonly number[] {
  return machine.processes
    .entries()
    .filter(([pid, task]) => pid !== own && matches(task))
    .map(([pid]) => pid);
}

/** `kill [-l] [-SIGNAL | -s SIGNAL] PID...` */
export async function kill(self: Self): Promise<number> {
  const { signal, problem, list, rest } = killArguments(self.argv.slice(1));
  if (list !== undefined) return print(self, list).then(() => 0);
  if (signal === undefined) return fail(self, problem ?? "");
  if (rest.length === 0) return fail(self, "you need to specify whom to kill");
  let code = 0;
  for (const pid of rest) {
    const trouble = /^-?\d+$/.test(pid) ? sendSignal(self.machine, pid, signal) : `invalid number '${pid}'`;
    if (trouble === undefined) continue;
    await complain(self, trouble);
    code = 1;
  }
  return code;
}

/** `killall [-lq] [-SIGNAL] NAME...` */
export async function killall(self: Self): Promise<number> {
  const words = self.argv.slice(1);
  const isQuiet = words[0] === "-q";
  const { signal, problem, list, rest } = killArguments(words.slice(isQuiet ? 1 : 0));
  if (list !== undefined) return print(self, list).then(() => 0);
  if (signal === undefined) return fail(self, problem ?? "");
  if (rest.length === 0) return fail(self, "you need to specify whom to kill");
  let code = 0;
  for (const name of rest) {
    const found = named(self, (task) => commandOf(task) === name);
    if (found.length === 0) {
      code = 1;
      if (!isQuiet) await complain(self, `${name}: no process killed`);
    }
    if (!(await signalAll(self, found, signal))) code = 1;
  }
  return code;
}

async function signalAll(self: Self, pids: readonly number[], signal: number): Promise<boolean> {
  let isDone = true;
  for (const pid of pids) {
    const problem = sendSignal(self.machine, String(pid), signal);
    if (problem === undefined) continue;
    isDone = false;
    await complain(self, problem);
  }
  return isDone;
}

/** `pgrep [-flanovx] [-P PPID] [PATTERN]`, `pkill [-l|-SIGNAL] [-fnovx] [-P PPID] [PATTERN]`. Mirrors busybox's procps/pgrep.c. */
export async function pgrep(self: Self): Promise<number> {
  const isKill = baseName(self.argv[0] ?? "") === "pkill";
  const words = self.argv.slice(1);
  if (isKill && words[0] === "-l") return print(self, signalList()).then(() => 0);
  const given = isKill ? parseSignal((words[0] ?? "").replace(/^-/, "")) : undefined;
  const hasSignal = given !== undefined && (words[0] ?? "").startsWith("-");
  const { options, rest, unknown } = parseArgs(hasSignal ? words.slice(1) : words, isKill ? "fxvnoP:" : "fxvnolaP:");
  const [pattern, ...others] = rest;
  const parent = options.get("P");
  if (unknown !== undefined || others.length > 0 || (pattern === undefined && parent === undefined))
    return usage(self, unknown);
  const matches = matcher(pattern ?? "", options.has("x"));
  if (typeof matches === "string") return fail(self, matches);
  const { processes } = self.machine;
  const isWanted = (task: Task) =>
    matches(options.has("f") ? task.argv.join(" ") : commandOf(task)) &&
    (parent === undefined || String(processes.parentOf(task)) === parent);
  const all = named(self, (task) => isWanted(task) !== options.has("v"));
  const found = options.has("n") ? all.slice(-1) : options.has("o") ? all.slice(0, 1) : all;
  if (isKill) await signalAll(self, found, hasSignal ? given : SIGTERM);
  else await print(self, found.map((pid) => `${pid}${nameText(processes.find(pid), options)}\n`).join(""));
  return found.length > 0 ? 0 : 1;
}

/** A pattern is a regular expression. Here it is text between anchors; others are refused. */
function matcher(pattern: string, isWhole: boolean): ((text: string) => boolean) | string {
  const [, start = "", text = "", end = ""] = /^(\^?)(.*?)(\$?)$/s.exec(pattern) ?? [];
  if (/[\\[\].*+?(){}|^$]/.test(text)) return `kubelab takes only ^TEXT$ as a pattern, not '${pattern}'`;
  if (isWhole || (start !== "" && end !== "")) return (one) => one === text;
  if (start !== "") return (one) => one.startsWith(text);
  return end !== "" ? (one) => one.endsWith(text) : (one) => one.includes(text);
}

function nameText(task: Task | undefined, options: ReadonlyMap<string, string>): string {
  if (task === undefined || !(options.has("l") || options.has("a"))) return "";
  return ` ${options.has("a") || options.has("f") ? task.argv.join(" ") : commandOf(task)}`;
}

/** `pidof [-s] [-o PID] NAME...`: the youngest first. */
export async function pidof(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "so:");
  if (unknown !== undefined) return usage(self, unknown);
  const left = options.get("o");
  const found = rest
    .flatMap((name) => [...named(self, (task) => commandOf(task) === baseName(name))].reverse())
    .filter((pid) => String(pid) !== left);
  const shown = options.has("s") ? found.slice(0, 1) : found;
  if (shown.length > 0) await print(self, `${shown.join(" ")}\n`);
  return shown.length > 0 ? 0 : 1;
}
