import { release } from "node:os";
import { resolvePath } from "../fs/paths.js";
import { AccountNames, accountOf } from "../process/accounts.js";
import { effectiveCapabilities } from "../process/confinement.js";
import { execInPlace } from "../process/exec.js";
import { lookUp } from "../process/lookup.js";
import { type Process, type Self, SpawnError } from "../process/process.js";
import { SIGINT, SIGTERM } from "../process/signals.js";
import type { ByteSource } from "../streams.js";
import { complain, fail, parseArgs, print, usage } from "./console.js";

const UNITS_MS: Readonly<Record<string, number>> = { "": 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `5`, `1.5m`, `infinity` @returns ms; undefined for an invalid duration */
export function parseDuration(text: string): number | undefined {
  if (/^inf(inity)?$/i.test(text)) return Number.POSITIVE_INFINITY;
  const [, digits, unit = ""] = /^(\d+(?:\.\d+)?|\.\d+)([smhd]?)$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (UNITS_MS[unit] ?? 0);
}

/** `sleep DURATION...` */
export async function sleep(self: Self): Promise<number> {
  const args = self.argv.slice(1);
  if (args.length === 0) return usage(self);
  const wrong = args.find((arg) => parseDuration(arg) === undefined);
  if (wrong !== undefined) return fail(self, `invalid number '${wrong}'`);
  const ms = args.reduce((sum, arg) => sum + (parseDuration(arg) ?? 0), 0);
  if (ms === Number.POSITIVE_INFINITY) return untilKilled(self);
  await self.machine.clock.sleep(ms, self.signal, { what: `end \`${self.argv.join(" ")}\``, setBy: "its argument" });
  return 0;
}

/** `usleep MICROSECONDS` */
export async function usleep(self: Self): Promise<number> {
  const [count, ...others] = self.argv.slice(1);
  if (count === undefined || others.length > 0) return usage(self);
  if (!/^\d+$/.test(count)) return fail(self, `invalid number '${count}'`);
  await self.machine.clock.sleep(Number(count) / 1000, self.signal, {
    what: `end \`${self.argv.join(" ")}\``,
    setBy: "its argument",
  });
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
  const args = self.argv.slice(1).map((arg, at) => (at === 0 && arg === "-" ? "-i" : arg));
  const { options, rest, unknown } = parseArgs(args, "+i0u:");
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
      .map(([name, value]) => `${name}=${value}${options.has("0") ? "\0" : "\n"}`)
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
  { stdin = self.stdin, named = (command: string) => command, ...group }: ChildOptions = {},
): Promise<Process | number> {
  const { env, cwd, umask, stdout, stderr, pid: parentPid } = self;
  try {
    return self.machine.spawn({ argv, env, cwd, umask, stdin, stdout, stderr, parentPid, ...group });
  } catch (error) {
    if (!(error instanceof SpawnError)) throw error;
    await complain(self, `${named(error.command)}: ${spawnProblem(error)}`);
    return error.exitCode;
  }
}

interface ChildOptions {
  readonly stdin?: ByteSource;
  /** the command in the error of one that cannot start */
  readonly named?: (command: string) => string;
  readonly group?: "new";
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
  if (account === undefined || argv.length === 0) return fail(self, `unable to find user ${name}: no matching entries`);
  const capabilities = effectiveCapabilities(user.uid, confinement);
  if (account.uid !== user.uid && !(capabilities.has("SETUID") && capabilities.has("SETGID")))
    return fail(self, `failed switching to "${name}": operation not permitted`);
  return runCommand(self, argv, { ...self.env, HOME: account.home }, self.machine.asUser(account));
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

/** `hostname [-idfs]`, `hostname NAME`, `hostname -F FILE`. Differs: also -I, which other hostnames have. */
export async function hostname(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "idfsIF:");
  const [given] = rest;
  if (unknown !== undefined) return usage(self, unknown);
  const { uts, user, confinement, fs } = self.machine;
  const file = options.get("F");
  if (file !== undefined && !fs.exists(resolvePath(self.cwd, file)))
    return fail(self, `can't open '${file}': No such file or directory`);
  const wanted = file === undefined ? given : fs.readFile(resolvePath(self.cwd, file)).toString().trim();
  if (wanted !== undefined) {
    if (!effectiveCapabilities(user.uid, confinement).has("SYS_ADMIN"))
      return fail(self, "sethostname: Operation not permitted");
    uts.hostname = wanted;
    return 0;
  }
  const { hostname: name } = uts;
  const full = fullName(self);
  const answers = {
    i: addressOf(self),
    I: addressOf(self),
    s: name.split(".")[0],
    f: full,
    d: full.slice(name.length + 1),
  };
  const [, text = name] = Object.entries(answers).find(([letter]) => options.has(letter)) ?? [];
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
  if (name === undefined) return fail(self, `unknown uid ${uid}`);
  await print(self, `${name}\n`);
  return 0;
}

/** `id [-ugGn] [USER]`, `groups`. Mirrors busybox's coreutils/id.c. */
export async function id(self: Self): Promise<number> {
  const isGroups = self.argv[0]?.split("/").at(-1) === "groups";
  const { options, rest, unknown } = parseArgs(isGroups ? ["-Gn"] : self.argv.slice(1), "ugGnr");
  if (unknown !== undefined) return usage(self, unknown);
  const { fs, user } = self.machine;
  const asked = rest[0] === undefined ? user : accountOf(fs, rest[0]);
  if (asked === undefined) return fail(self, `unknown user ${rest[0]}`);
  const { uid, gid, groups } = asked;
  const names = new AccountNames(fs);
  const shown = (number: number, name: string | undefined) => `${number}${name === undefined ? "" : `(${name})`}`;
  if (!["u", "g", "G"].some((letter) => options.has(letter))) {
    if (options.has("n") || options.has("r")) return usage(self);
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

/** `uname [-amnrspvio]` */
export async function uname(self: Self): Promise<number> {
  const { options } = parseArgs(self.argv.slice(1), "asnrvmpio");
  const parts: readonly (readonly [string, string])[] = [
    ["s", "Linux"],
    ["n", self.machine.uts.hostname],
    ["r", release()],
    ["v", "#1 SMP"],
    ["m", "x86_64"],
    ["p", "unknown"],
    ["i", "unknown"],
    ["o", "GNU/Linux"],
  ];
  const inAll = (letter: string) => options.has("a") && letter !== "p" && letter !== "i";
  const wanted = parts.filter(([letter]) => inAll(letter) || options.has(letter));
  await print(self, `${(wanted.length === 0 ? parts.slice(0, 1) : wanted).map(([, text]) => text).join(" ")}\n`);
  return 0;
}

/** `nproc [--all] [--ignore=N]` */
export async function nproc(self: Self): Promise<number> {
  let left = self.machine.node.cpus;
  for (const arg of self.argv.slice(1)) {
    const ignored = /^--ignore=(\d+)$/.exec(arg)?.[1];
    if (ignored !== undefined) left -= Number(ignored);
    else if (arg !== "--all") return usage(self, parseArgs([arg], "").unknown);
  }
  await print(self, `${Math.max(1, left)}\n`);
  return 0;
}

/** `which [-a] COMMAND...` */
export async function which(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "a");
  if (unknown !== undefined || rest.length === 0) return usage(self, unknown);
  let code = 0;
  for (const name of rest) {
    const folders = options.has("a") ? (self.env["PATH"] ?? "").split(":") : [self.env["PATH"]];
    let isFound = false;
    for (const path of folders) {
      try {
        await print(self, `${lookUp(self.machine.fs, name, self.cwd, path).path}\n`);
        isFound = true;
      } catch (error) {
        if (!(error instanceof SpawnError)) throw error; // `which` is silent about missing commands
      }
    }
    if (!isFound) code = 1;
  }
  return code;
}
