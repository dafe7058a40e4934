import { killArguments } from "../process/kill-arguments.js";
import { exitCodeOf } from "../process/process.js";
import { sendSignal } from "../process/process-table.js";
import { parseSignal, signalName } from "../process/signals.js";
import type { Shell } from "./shell.js";
import type { CommandNode } from "./syntax/ast.js";
import { quote } from "./syntax/quote.js";
import { EXIT } from "./traps.js";

/** `trap [COMMAND SIGNAL...]` */
export async function trap(args: readonly string[], shell: Shell): Promise<number> {
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

/** `wait [PID...]`: a trapped signal interrupts it with a status above 128. */
export async function wait(args: readonly string[], shell: Shell): Promise<number> {
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

/** `kill [-l] [-SIGNAL] PID|%JOB...` */
export async function kill(args: readonly string[], shell: Shell): Promise<number> {
  const { signal, problem, list, rest } = killArguments(args);
  if (list !== undefined) await shell.print(list);
  if (list !== undefined) return 0;
  if (signal === undefined || rest.length === 0) {
    await shell.complain(problem ?? "you need to specify whom to kill");
    return 1;
  }
  let status = 0;
  for (const arg of rest) {
    const pid = arg.replace(/^%/, "");
    const trouble = /^-?\d+$/.test(pid) ? sendSignal(shell.self.machine, pid, signal) : `invalid number '${arg}'`;
    if (trouble === undefined) continue;
    await shell.complain(trouble);
    status = 1;
  }
  return status;
}

/** `jobs [-p]` */
export async function jobs(args: readonly string[], shell: Shell): Promise<number> {
  for (const [pid, job] of shell.state.jobs) {
    if (job.status !== undefined) continue;
    await shell.print(args.includes("-p") ? `${pid}\n` : `[${pid}] Running   ${job.argv.join(" ")}\n`);
  }
  return 0;
}

/** Whether a subshell runs only `jobs`, which then shows its parent's: `kill $(jobs -p)`. Mirrors forkchild in busybox's shell/ash.c. */
export function showsJobs(command: CommandNode | undefined): boolean {
  if (command?.type !== "SimpleCommand") return false;
  const [first, ...others] = command.name?.parts ?? [];
  return first?.type === "Literal" && first.value === "jobs" && others.length === 0;
}
