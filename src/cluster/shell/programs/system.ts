import { release } from "node:os";
import { AccountNames, accountOf } from "../process/accounts.js";
import { effectiveCapabilities } from "../process/confinement.js";
import { execInPlace } from "../process/exec.js";
import { lookUp } from "../process/lookup.js";
import { exitCodeOf, type Process, type Self, SpawnError } from "../process/process.js";
import { isProcess, sendSignal, subjectOf } from "../process/process-table.js";
import { parseSignal, SIGINT, SIGTERM } from "../process/signals.js";
import { terminalOf } from "../process/terminal.js";
import { complain, parseArgs, print, usage } from "./console.js";
import { formatDate } from "./date.js";

/** `true` */
export async function succeed(): Promise<number> {
  return 0;
}

/** `false` */
export async function fail(): Promise<number> {
  return 1;
}

const UNITS_MS: Readonly<Record<string, number>> = { "": 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `sleep 5`, `sleep 1m 30s`, `sleep infinity` @returns undefined for an invalid duration */
function parseSleep(args: readonly string[]): number | undefined {
  let sumMs = 0;
  for (const arg of args) {
    if (/^inf(inity)?$/i.test(arg)) return Number.POSITIVE_INFINITY;
    const match = /^(\d+(?:\.\d+)?|\.\d+)([smhd]?)$/.exec(arg);
    if (match === null) return undefined;
    sumMs += Number(match[1]) * (UNITS_MS[match[2] ?? ""] ?? 0);
  }
  return args.length === 0 ? undefined : sumMs;
}

/** `sleep DURATION...` */
export async function sleep(self: Self): Promise<number> {
  const ms = parseSleep(self.argv.slice(1));
  if (ms === undefined) return usage(self, `invalid time interval '${self.argv.slice(1).join(" ")}'`);
  if (ms === Number.POSITIVE_INFINITY) return untilKilled(self);
  await self.machine.clock.sleep(ms, self.signal, { what: `end \`${self.argv.join(" ")}\``, setBy: "its argument" });
  return 0;
}

/** Waits without a timer, so that 10,000 idle containers cost nothing. */
export function untilKilled(self: Self): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (self.signal.aborted) return reject(self.signal.reason);
    self.signal.addEventListener("abort", () => reject(self.signal.reason), { once: true });
  });
}

/** Resolves with the first of these signals. */
export function untilSignal(self: Self, ...signals: readonly number[]): Promise<number> {
  return new Promise((resolve, reject) => {
    for (const signal of signals) self.onSignal(signal, resolve);
    untilKilled(self).catch(reject);
  });
}

/** `pause`: a sandbox's own process. Ends on SIGTERM or SIGINT. */
export async function pause(self: Self): Promise<number> {
  await untilSignal(self, SIGTERM, SIGINT);
  return 0;
}

/** `env [-i] [NAME=VALUE...] [COMMAND [ARG...]]` */
export async function env(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "+iu:");
  if (unknown !== undefined) return usage(self, unknown);
  const vars: Record<string, string> = options.has("i") ? {} : { ...self.env };
  const unset = options.get("u");
  if (unset !== undefined) delete vars[unset];
  let at = 0;
  for (; (rest[at] ?? "").includes("="); at++) {
    const [, name = "", value = ""] = /^([^=]*)=(.*)$/s.exec(rest[at] as string) ?? [];
    vars[name] = value;
  }
  if (at < rest.length) return runCommand(self, rest.slice(at), vars);
  await print(
    self,
    Object.entries(vars)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(""),
  );
  return 0;
}

/** Replaces the program. @returns its exit code, or 126 or 127 */
export async function runCommand(
  self: Self,
  argv: readonly string[],
  vars: Readonly<Record<string, string>>,
  machine = self.machine,
): Promise<number> {
  try {
    return await execInPlace(self, argv, { env: vars, machine });
  } catch (error) {
    if (!(error instanceof SpawnError)) throw error;
    await complain(self, `can't execute '${error.command}': ${spawnProblem(error)}`);
    return error.exitCode;
  }
}

/** Starts a program on the process's streams. @returns its exit code if it cannot start, which is reported */
export async function startChild(
  self: Self,
  argv: readonly string[],
  { stdin = self.stdin, named = (command: string) => command } = {},
): Promise<Process | number> {
  const { env, cwd, umask, stdout, stderr, pid: parentPid } = self;
  try {
    return self.machine.spawn({ argv, env, cwd, umask, stdin, stdout, stderr, parentPid });
  } catch (error) {
    if (!(error instanceof SpawnError)) throw error;
    await complain(self, `${named(error.command)}: ${spawnProblem(error)}`);
    return error.exitCode;
  }
}

/** Why a program cannot start, as strerror words it. */
function spawnProblem({ exitCode, reason }: SpawnError): string {
  return exitCode === 127 ? "No such file or directory" : reason.charAt(0).toUpperCase() + reason.slice(1);
}

/** The entrypoint script of many images: runs the command in its arguments. */
export async function entrypoint(self: Self): Promise<number> {
  return runCommand(self, self.argv.slice(1), self.env);
}

/** `gosu USER COMMAND [ARG...]`: how entry points of images give up root. */
export async function gosu(self: Self): Promise<number> {
  const [name = "", ...argv] = self.argv.slice(1);
  const { fs, user, confinement } = self.machine;
  const account = accountOf(fs, name);
  if (account === undefined || argv.length === 0)
    return usage(self, `unable to find user ${name}: no matching entries`);
  const capabilities = effectiveCapabilities(user.uid, confinement);
  if (account.uid !== user.uid && !(capabilities.has("SETUID") && capabilities.has("SETGID")))
    return usage(self, `failed switching to "${name}": operation not permitted`);
  return runCommand(self, argv, { ...self.env, HOME: account.home }, self.machine.asUser(account));
}

/** `timeout [-s SIGNAL] SECONDS COMMAND [ARG...]` */
export async function timeout(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "+s:k:t:");
  const ms = parseSleep(rest.slice(0, 1));
  const signal = parseSignal(options.get("s") ?? "TERM");
  if (unknown !== undefined || ms === undefined || signal === undefined || rest.length < 2) {
    return usage(self, "usage: timeout [-s SIGNAL] SECONDS COMMAND [ARG...]");
  }
  const child = await startChild(self, rest.slice(1), { named: (command) => `can't execute '${command}'` });
  if (typeof child === "number") return child;
  const timer = new AbortController();
  const timedOut = self.machine.clock.sleep(ms, timer.signal).then(
    () => true,
    () => false,
  );
  const ended = child.exited.then(exitCodeOf);
  const first = await Promise.race([ended, timedOut]);
  if (first === true) child.kill(signal);
  timer.abort();
  return ended;
}

/** `printenv [NAME...]` */
export async function printenv(self: Self): Promise<number> {
  const names = self.argv.slice(1);
  if (names.length === 0) {
    await print(
      self,
      Object.entries(self.env)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(""),
    );
    return 0;
  }
  let code = 0;
  for (const name of names) {
    const value = self.env[name];
    if (value === undefined) code = 1;
    else await print(self, `${value}\n`);
  }
  return code;
}

/** `pwd` */
export async function pwd(self: Self): Promise<number> {
  await print(self, `${self.cwd}\n`);
  return 0;
}

/** `hostname [-i|-s|-f|-d]`, `hostname NAME` */
export async function hostname(self: Self): Promise<number> {
  const [option = ""] = self.argv.slice(1);
  const { uts, user, confinement } = self.machine;
  if (option !== "" && !option.startsWith("-")) {
    if (!effectiveCapabilities(user.uid, confinement).has("SYS_ADMIN")) {
      return usage(self, "sethostname: Operation not permitted");
    }
    uts.hostname = option;
    return 0;
  }
  const { hostname: name } = uts;
  const full = fullName(self);
  const text =
    {
      "-i": addressOf(self),
      "-I": addressOf(self),
      "-s": name.split(".")[0],
      "-f": full,
      "-d": full.slice(name.length + 1),
    }[option] ?? name;
  await print(self, `${text}\n`);
  return 0;
}

/** The longest name that /etc/hosts has for this host: the kubelet writes it first. */
function fullName({ machine: { fs, uts } }: Self): string {
  const { hostname: name } = uts;
  const text = fs.exists("/etc/hosts") ? fs.readFile("/etc/hosts").toString() : "";
  const [found] = text.split("\n").flatMap((line) => line.split(/\s+/).filter((word) => word.startsWith(`${name}.`)));
  return found ?? name;
}

function addressOf({ machine: { network } }: Self): string {
  return network.ip ?? "127.0.0.1";
}

/** `whoami` */
export async function whoami(self: Self): Promise<number> {
  const { uid } = self.machine.user;
  const name = new AccountNames(self.machine.fs).user(uid);
  if (name === undefined) return usage(self, `unknown uid ${uid}`);
  await print(self, `${name}\n`);
  return 0;
}

/** `id [-ugGn] [USER]`, `groups`. Mirrors busybox's coreutils/id.c. */
export async function id(self: Self): Promise<number> {
  const isGroups = self.argv[0]?.split("/").at(-1) === "groups";
  const { options, rest, unknown } = parseArgs(isGroups ? ["-Gn"] : self.argv.slice(1), "ugGnr");
  if (unknown !== undefined) return usage(self, "usage: id [-ugGnr] [USER]");
  const { fs, user } = self.machine;
  const asked = rest[0] === undefined ? user : accountOf(fs, rest[0]);
  if (asked === undefined) return usage(self, `unknown user ${rest[0]}`);
  const { uid, gid, groups } = asked;
  const names = new AccountNames(fs);
  const shown = (number: number, name: string | undefined) => `${number}${name === undefined ? "" : `(${name})`}`;
  if (!["u", "g", "G"].some((letter) => options.has(letter))) {
    if (options.has("n") || options.has("r")) return usage(self, "usage: id [-ugGnr] [USER]");
    const all = groups.map((one) => shown(one, names.group(one))).join();
    await print(self, `uid=${shown(uid, names.user(uid))} gid=${shown(gid, names.group(gid))} groups=${all}\n`);
    return 0;
  }
  let code = 0;
  const wanted = options.has("u") ? [uid] : options.has("g") ? [gid] : [gid, ...groups.filter((one) => one !== gid)];
  for (const [at, number] of wanted.entries()) {
    const name = options.has("u") ? names.user(number) : names.group(number);
    await print(self, `${at > 0 ? " " : ""}${options.has("n") ? (name ?? number) : number}`);
    if (!options.has("n") || name !== undefined) continue;
    code = 1;
    await complain(self, `unknown ID ${number}`);
  }
  await print(self, "\n");
  return code;
}

/** `uname [-a] [-r] ...` */
export async function uname(self: Self): Promise<number> {
  const { options } = parseArgs(self.argv.slice(1), "asnrvmo");
  const parts: readonly (readonly [string, string])[] = [
    ["s", "Linux"],
    ["n", self.machine.uts.hostname],
    ["r", release()],
    ["v", "#1 SMP"],
    ["m", "x86_64"],
    ["o", "GNU/Linux"],
  ];
  const wanted = parts.filter(([letter]) => options.has("a") || options.has(letter));
  await print(self, `${(wanted.length === 0 ? parts.slice(0, 1) : wanted).map(([, text]) => text).join(" ")}\n`);
  return 0;
}

/** `nproc` */
export async function nproc(self: Self): Promise<number> {
  await print(self, `${self.machine.node.cpus}\n`);
  return 0;
}

/** `ps`: the processes of the PID namespace, with the CPU time of the statistics: none of those outside of containers. */
export async function ps(self: Self): Promise<number> {
  await print(self, processLines(self));
  return 0;
}

function processLines(self: Self): string {
  const { fs, processes } = self.machine;
  const names = new AccountNames(fs);
  const lines = processes.entries().map(([pid, task]) => {
    const { uid } = subjectOf(task).user;
    const user = (names.user(uid) ?? String(uid)).slice(0, 8).padEnd(8);
    const time = cpuTimeText(isProcess(task) ? task.cpuNs / 1e9 : 0);
    return `${String(pid).padStart(5)} ${user} ${time} ${task.argv.join(" ")}\n`;
  });
  return `PID   USER     TIME  COMMAND\n${lines.join("")}`;
}

/** Five characters. Mirrors busybox's procps/ps.c (format_time): ` 1:05`, ` 2h07`, ` 3d04`. */
function cpuTimeText(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const two = (number: number) => String(Math.floor(number)).padStart(2, "0");
  const days = hours < 24 ? `${hours}h${two(minutes % 60)}` : `${Math.floor(hours / 24)}d${two(hours % 24)}`;
  return (minutes < 60 ? `${minutes}:${two(seconds % 60)}` : days).padStart(5);
}

const TOP_INTERVAL_MS = 5000;

/** Differs: the memory of the container, whose limit has the place of the machine's. */
function memoryLine({ machine: { memory } }: Self): string {
  const { usedBytes, limitBytes } = memory;
  const free = limitBytes === undefined ? "" : `, ${Math.floor((limitBytes - usedBytes) / 1024)}K free`;
  return `Mem: ${Math.ceil(usedBytes / 1024)}K used${free}`;
}

/** `top [-b] [-n COUNT] [-d SECONDS]`: repeats the list every few seconds until it is ended. */
export async function top(self: Self): Promise<number> {
  const { options } = parseArgs(self.argv.slice(1), "bn:d:mH");
  const rounds = Number(options.get("n") ?? Number.POSITIVE_INFINITY);
  for (const signal of [SIGTERM, SIGINT]) self.onSignal(signal, () => end.abort());
  const end = new AbortController();
  for (let round = 1; round <= rounds; round++) {
    await print(self, `${memoryLine(self)}\n${processLines(self)}`);
    if (round === rounds) break;
    const signal = AbortSignal.any([end.signal, self.signal]);
    await self.machine.clock.sleep(Number(options.get("d") ?? 0) * 1000 || TOP_INTERVAL_MS, signal).catch(() => {});
    if (signal.aborted) return 0;
  }
  return 0;
}

/** `watch [-n SECONDS] [-t] COMMAND [ARG...]`: repeats the command of a shell until it is ended. Mirrors busybox's procps/watch.c. */
export async function watch(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "+dtn:");
  if (unknown !== undefined || rest.length === 0) return usage(self, unknown ?? "usage: watch [-n SEC] [-t] PROG ARGS");
  const seconds = Math.max(0.1, Number(options.get("n") ?? "2") || 0);
  const { machine, signal } = self;
  const width = terminalOf(self.stdout)?.size.width || 80;
  for (;;) {
    const when = formatDate(new Date(machine.clock.now()), "%Y-%m-%d %H:%M:%S");
    const room = Math.max(0, width - when.length - 1);
    const title = `Every ${seconds.toFixed(1)}s: ${rest.join(" ")}`.slice(0, room).padEnd(room);
    const head = options.has("t") ? "" : `${title}${when}\n\n`;
    await print(self, `\x1b[H\x1b[J${head}`);
    const child = await startChild(self, ["/bin/sh", "-c", rest.join(" ")]);
    if (typeof child !== "number") await child.exited;
    await machine.clock.sleep(seconds * 1000, signal);
  }
}

/** `kill [-SIGNAL | -s SIGNAL] PID...` */
export async function kill(self: Self): Promise<number> {
  const args = [...self.argv.slice(1)];
  let signal: number | undefined = SIGTERM;
  if (args[0] === "-s") signal = parseSignal(args.splice(0, 2)[1] ?? "");
  else if ((args[0] ?? "").startsWith("-") && args.length > 1) signal = parseSignal((args.shift() as string).slice(1));
  if (signal === undefined) return usage(self, "bad signal name");
  let code = 0;
  for (const arg of args) {
    const problem = sendSignal(self.machine, arg, signal);
    if (problem === undefined) continue;
    await complain(self, problem);
    code = 1;
  }
  return code;
}

/** `which COMMAND...` */
export async function which(self: Self): Promise<number> {
  let code = 0;
  for (const name of self.argv.slice(1)) {
    try {
      await print(self, `${lookUp(self.machine.fs, name, self.cwd, self.env["PATH"]).path}\n`);
    } catch {
      code = 1; // `which` is silent about missing commands
    }
  }
  return code;
}
