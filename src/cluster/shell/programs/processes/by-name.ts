import { baseName } from "../fs/paths.js";
import type { Self } from "../process/process.js";
import { commandOf, sendSignal, type Task } from "../process/process-table.js";
import { parseSignal, SIGHUP, SIGTERM } from "../process/signals.js";
import { terminalOf } from "../process/terminal.js";
import { complain, parseArgs, print, usage } from "./console.js";
import { runCommand } from "./system.js";

/** Programs that find processes by their names. */

/** The other processes with this command. */
function named({ machine, pid: own }: Self, matches: (task: Task) => boolean): readonly number[] {
  return machine.processes
    .entries()
    .filter(([pid, task]) => pid !== own && matches(task))
    .map(([pid]) => pid);
}

/** `pgrep [-f] [-x] [-l] PATTERN`: the processes whose command contains the pattern. */
export async function pgrep(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "fxlno");
  const pattern = rest[0];
  if (unknown !== undefined || pattern === undefined) return usage(self, "usage: pgrep [-fxl] PATTERN");
  const textOf = (task: Task) => (options.has("f") ? task.argv.join(" ") : commandOf(task));
  const found = named(self, (task) => (options.has("x") ? textOf(task) === pattern : textOf(task).includes(pattern)));
  const nameOf = (pid: number) => commandOf(self.machine.processes.find(pid) ?? { argv: [] });
  await print(self, found.map((pid) => (options.has("l") ? `${pid} ${nameOf(pid)}\n` : `${pid}\n`)).join(""));
  return found.length > 0 ? 0 : 1;
}

/** `pidof [-s] NAME...`: the youngest first. */
export async function pidof(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "so:");
  if (unknown !== undefined) return usage(self, unknown);
  const found = rest.flatMap((name) => [...named(self, (task) => commandOf(task) === baseName(name))].reverse());
  const shown = options.has("s") ? found.slice(0, 1) : found;
  if (shown.length > 0) await print(self, `${shown.join(" ")}\n`);
  return shown.length > 0 ? 0 : 1;
}

/** `killall [-q] [-SIGNAL] NAME...` */
export async function killall(self: Self): Promise<number> {
  const words = self.argv.slice(1);
  const isQuiet = words.includes("-q");
  const options = words.filter((word) => word.startsWith("-") && word !== "-q");
  const names = words.filter((word) => !word.startsWith("-"));
  const signal = options[0] === undefined ? SIGTERM : parseSignal(options[0].slice(1));
  if (signal === undefined) return usage(self, `bad signal name '${options[0]?.slice(1)}'`);
  if (names.length === 0) return usage(self, "you need to specify whom to kill");
  let code = 0;
  for (const name of names) {
    const found = named(self, (task) => commandOf(task) === name);
    if (found.length === 0) {
      code = 1;
      if (!isQuiet) await complain(self, `${name}: no process killed`);
    }
    for (const pid of found) {
      const problem = sendSignal(self.machine, String(pid), signal);
      if (problem === undefined) continue;
      code = 1;
      await complain(self, problem);
    }
  }
  return code;
}

/** `nohup PROGRAM [ARG...]`: ignores SIGHUP. Differs: output to a terminal stays there, and no nohup.out is written. */
export async function nohup(self: Self): Promise<number> {
  const words = self.argv.slice(1);
  if (words.length === 0) return usage(self, "usage: nohup PROGRAM ARGS");
  self.onSignal(SIGHUP, "ignore");
  if (terminalOf(self.stdout) !== undefined) await complain(self, "output stays on this terminal");
  return runCommand(self, words, self.env);
}
