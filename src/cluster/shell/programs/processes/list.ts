import { AccountNames } from "../../process/accounts.js";
import type { Self } from "../../process/process.js";
import { commandOf, isProcess, subjectOf, type Task } from "../../process/process-table.js";
import { SIGINT, SIGTERM } from "../../process/signals.js";
import { terminalOf } from "../../process/terminal.js";
import { fail, parseArgs, print, usage } from "../console.js";

/** Programs that show the processes of the PID namespace: none of those outside of containers. */

interface Column {
  readonly header: string;
  readonly width: number;
  /** numbers are right-aligned */
  readonly isNumber?: true;
  readonly of: (pid: number, task: Task) => string | number;
}

/** The default columns of busybox: with TIME, as its usual builds have. */
const DEFAULT = ["pid", "user", "time", "args"];

/** Mirrors out_spec of busybox's procps/ps.c. Differs: without the columns etime, nice and sid, which no process here has. */
function columnsOf(self: Self): Readonly<Record<string, Column>> {
  const names = new AccountNames(self.machine.fs);
  const user = (task: Task) => names.user(subjectOf(task).user.uid) ?? String(subjectOf(task).user.uid);
  const group = (task: Task) => names.group(subjectOf(task).user.gid) ?? String(subjectOf(task).user.gid);
  const kib = (task: Task) => (isProcess(task) ? Math.ceil(task.memory.usedBytes / 1024) : 0);
  return {
    __proto__: null as never,
    user: { header: "USER", width: 8, of: (_pid, task) => user(task).slice(0, 8) },
    group: { header: "GROUP", width: 8, of: (_pid, task) => group(task).slice(0, 8) },
    comm: { header: "COMMAND", width: 16, of: (_pid, task) => commandOf(task).slice(0, 15) },
    args: { header: "COMMAND", width: 256, of: (_pid, task) => task.argv.join(" ") },
    pid: { header: "PID", width: 5, isNumber: true, of: (pid) => pid },
    ppid: { header: "PPID", width: 5, isNumber: true, of: (_pid, task) => self.machine.processes.parentOf(task) },
    pgid: { header: "PGID", width: 5, isNumber: true, of: (pid, task) => (isProcess(task) ? task.group : pid) },
    rgroup: { header: "RGROUP", width: 8, of: (_pid, task) => group(task).slice(0, 8) },
    ruser: { header: "RUSER", width: 8, of: (_pid, task) => user(task).slice(0, 8) },
    time: { header: "TIME", width: 5, of: (_pid, task) => cpuTimeText(cpuSeconds(task)) },
    tty: { header: "TT", width: 6, of: (_pid, task) => (hasTerminal(task) ? "136,0" : "?") },
    vsz: { header: "VSZ", width: 4, of: (_pid, task) => String(kib(task)).padStart(4) },
    stat: { header: "STAT", width: 4, of: (_pid, task) => stateOf(self, task) },
    rss: { header: "RSS", width: 4, of: (_pid, task) => String(kib(task)).padStart(4) },
  };
}

function cpuSeconds(task: Task): number {
  return isProcess(task) ? task.cpuNs / 1e9 : 0;
}

function hasTerminal(task: Task): boolean {
  return isProcess(task) && terminalOf(task.streams[0]) !== undefined;
}

/** Only the process that looks is running at this moment. */
function stateOf(self: Self, task: Task): string {
  return isProcess(task) && task.machine.processes === self.machine.processes && task.pid === self.pid ? "R" : "S";
}

/** Five characters. Mirrors busybox's procps/ps.c (format_time): ` 1:05`, ` 2h07`, ` 3d04`. */
function cpuTimeText(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const two = (number: number) => String(Math.floor(number)).padStart(2, "0");
  const days = hours < 24 ? `${hours}h${two(minutes % 60)}` : `${Math.floor(hours / 24)}d${two(hours % 24)}`;
  return (minutes < 60 ? `${minutes}:${two(seconds % 60)}` : days).padStart(5);
}

/** `ps [-o COLUMN[=HEADER],...] [-T]`: the flags of other systems' ps that ask for all processes change nothing. */
export async function ps(self: Self): Promise<number> {
  const args = self.argv.slice(1);
  const { options, unknown } = parseArgs(args, "o:TZaAdefl");
  if (unknown !== undefined) return usage(self, unknown);
  const known = columnsOf(self);
  const shown: Column[] = [];
  for (const word of options.has("o") ? optionValues(args) : DEFAULT) {
    const [, name = "", header] = /^([^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    const column = known[name];
    if (column === undefined)
      return fail(self, `bad -o argument '${name}', supported arguments: ${Object.keys(known).join()}`);
    shown.push(header === undefined ? column : { ...column, header, width: header.length || column.width });
  }
  const last = shown.length - 1;
  const line = (text: (column: Column) => string) =>
    `${shown.map((column, at) => (at === last ? text(column) : text(column).padEnd(column.width))).join(" ")}\n`;
  const rows = self.machine.processes.entries().map(([pid, task]) =>
    line(({ of, isNumber, width }) => {
      const value = String(of(pid, task)).slice(0, isNumber ? undefined : Math.max(width, 1));
      return isNumber ? value.padStart(width) : value || "-";
    }),
  );
  const head = shown.some(({ header }) => header !== "") ? line(({ header }) => header) : "";
  await print(self, `${head}${rows.join("")}`);
  return 0;
}

/** The words of each -o. */
function optionValues(args: readonly string[]): readonly string[] {
  const values = args.flatMap((arg, at) => {
    const [, attached] = /^-[TZaAdefl]*o(.*)$/s.exec(arg) ?? [];
    return attached === undefined ? [] : [attached || (args[at + 1] ?? "")];
  });
  return values.flatMap((value) => value.split(","));
}

const TOP_INTERVAL_MS = 5000;

/** Differs: the memory and the processor of the container, whose limit has the place of the machine's. */
function topLines(self: Self): string {
  const { fs, memory, processes } = self.machine;
  const { usedBytes, limitBytes } = memory;
  const free = limitBytes === undefined ? "" : `, ${Math.floor((limitBytes - usedBytes) / 1024)}K free`;
  const names = new AccountNames(fs);
  const total = limitBytes ?? self.machine.node.memoryBytes;
  const rows = processes.entries().map(([pid, task]) => {
    const bytes = isProcess(task) ? task.memory.usedBytes : 0;
    const { uid } = subjectOf(task).user;
    const user = (names.user(uid) ?? String(uid)).slice(0, 8).padEnd(8);
    const numbers = [pid, processes.parentOf(task)].map((one) => String(one).padStart(5)).join(" ");
    const size = String(Math.ceil(bytes / 1024)).padStart(6);
    const share = `${Math.floor((bytes / total) * 100)}%`.padStart(4);
    return `${numbers} ${user} ${stateOf(self, task).padEnd(5)}${size} ${share} ${cpuTimeText(cpuSeconds(task))} ${task.argv.join(" ")}\n`;
  });
  const [one, five, fifteen] = fs.readFile("/proc/loadavg").toString().split(" ");
  return [
    `Mem: ${Math.ceil(usedBytes / 1024)}K used${free}\n`,
    `Load average: ${one} ${five} ${fifteen} 1/${rows.length} ${processes.lastPid}\n`,
    "  PID  PPID USER     STAT   VSZ %VSZ  TIME COMMAND\n",
    ...rows,
  ].join("");
}

/** `top [-b] [-n COUNT] [-d SECONDS]`: repeats the list every few seconds until it is ended. Differs: TIME instead of %CPU. */
export async function top(self: Self): Promise<number> {
  const { options, unknown } = parseArgs(self.argv.slice(1), "bn:d:");
  if (unknown !== undefined) return usage(self, unknown);
  for (const letter of ["n", "d"]) {
    const value = options.get(letter);
    if (value !== undefined && !/^\d+$/.test(value)) return fail(self, `invalid number '${value}'`);
  }
  const rounds = Number(options.get("n") ?? Number.POSITIVE_INFINITY);
  for (const signal of [SIGTERM, SIGINT]) self.onSignal(signal, () => end.abort());
  const end = new AbortController();
  for (let round = 1; round <= rounds; round++) {
    await print(self, topLines(self));
    if (round === rounds) break;
    const signal = AbortSignal.any([end.signal, self.signal]);
    await self.machine.clock.sleep(Number(options.get("d") ?? 0) * 1000 || TOP_INTERVAL_MS, signal).catch(() => {});
    if (signal.aborted) return 0;
  }
  return 0;
}
