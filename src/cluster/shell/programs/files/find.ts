import { decodeText } from "../../byte-text.js";
import type { ContainerFs } from "../../fs/container-fs.js";
import { changedMode } from "../../fs/mode.js";
import type { FileStat } from "../../fs/stat.js";
import { runUtility } from "../../language/utilities.js";
import { AccountNames, groupIdOf, userIdOf } from "../../process/accounts.js";
import { exitCodeOf, type Self } from "../../process/process.js";
import { BytesSource, CollectingSink } from "../../streams.js";
import { fail } from "../console.js";
import { startChild } from "../system.js";

/** just-bash compares the nine lowest bits of a mode. */
const MAX_TESTS = 9;
const AGE_UNITS_MS: Readonly<Record<string, number>> = { "-mmin": 60_000, "-mtime": 86_400_000 };
const MOMENT = "/\0mtime=";
const FOUND = /\0\0(\d+):([^\0]+)\0\0/g;

interface Plan {
  /** for just-bash */
  readonly args: string[];
  /** the nth decides bit n of the mode that just-bash sees */
  readonly tests: ((stat: FileStat) => boolean)[];
  /** those of -exec */
  readonly commands: { readonly words: readonly string[]; readonly isForAll: boolean }[];
}

/**
 * `find [PATH...] [TEST|ACTION]...` of just-bash, which knows two types of files, no owners, no time but the machine's, and
 * its own programs. Our tests are bits of a file's mode for it, and commands of -exec are lines of its output.
 * Differs: a command that fails does not end the actions of its file.
 */
export async function find(self: Self): Promise<number> {
  const { fs } = self.machine;
  const plan = planOf(self);
  if (typeof plan === "string") return fail(self, plan);
  const { args, tests, commands } = plan;
  const seen = (stat: FileStat): FileStat =>
    tests.length === 0
      ? stat
      : { ...stat, mode: tests.reduce((bits, test, at) => bits | (Number(test(stat)) << at), 0) };
  const stats = {
    stat: (path: string) =>
      path.startsWith(MOMENT) ? { ...fs.stat("/"), mtimeMs: Number(path.slice(MOMENT.length)) } : fs.stat(path),
    lstat: (path: string) => seen(fs.lstat(path)),
  };
  const stdout = new CollectingSink();
  let code = await runUtility({ ...self, argv: ["find", ...args], stdin: new BytesSource(), stdout }, stats);
  const parts = stdout.bytes().toString("latin1").split(FOUND);
  const groups = commands.map((): string[] => []);
  for (let at = 0; at < parts.length; at += 3) {
    await self.stdout.write(Buffer.from(parts[at] ?? "", "latin1"), self.signal);
    const which = Number(parts[at + 1] ?? -1);
    const path = decodeText(Buffer.from(parts[at + 2] ?? "", "latin1"));
    const { words, isForAll = false } = commands[which] ?? {};
    const argv = words?.map((word) => word.replaceAll("{}", path));
    if (isForAll) groups[which]?.push(path);
    else if (argv !== undefined) await execute(self, argv);
    await self.turn();
  }
  for (const [at, { words }] of commands.entries()) {
    const paths = groups[at] ?? [];
    const argv = words.flatMap((word) => (word === "{}" ? paths : [word]));
    if (paths.length > 0 && (await execute(self, argv)) !== 0) code = 1;
  }
  return code;
}

/** @returns the problem of a wrong argument */
function planOf({ argv, machine: { fs, clock } }: Self): Plan | string {
  const plan: Plan = { args: [], tests: [], commands: [] };
  const given = argv.slice(1);
  for (let name = given.shift(); name !== undefined; name = given.shift()) {
    const { args } = plan;
    if (name === "-exec") {
      const end = given.findIndex((word, at) => word === ";" || (word === "+" && given[at - 1] === "{}"));
      if (end < 1) return "-exec requires an argument";
      const words = given.splice(0, end);
      args.push("-printf", `\0\0${plan.commands.length}:%p\0\0`);
      plan.commands.push({ words, isForAll: given.shift() === "+" });
      continue;
    }
    const needsValue = /^-(user|group|perm|type|mmin|mtime)$/.test(name);
    if (!needsValue && !/^-no(user|group)$/.test(name)) {
      args.push(name);
      continue;
    }
    const value = needsValue ? given.shift() : "";
    if (value === undefined) return `${name} requires an argument`;
    const test = testOf(name, value, fs);
    if (typeof test === "string") return test;
    if (test === undefined) args.push(...(name === "-type" ? typeTest(value) : ageTest(name, value, clock.now())));
    else if (plan.tests.push(test) > MAX_TESTS) return `more than ${MAX_TESTS} tests of owners and modes`;
    else args.push("-perm", `-${(1 << (plan.tests.length - 1)).toString(8)}`);
  }
  return plan;
}

/** A test of owners or modes. @returns the problem of a wrong value; undefined for another test */
function testOf(name: string, value: string, fs: ContainerFs): ((stat: FileStat) => boolean) | string | undefined {
  const names = new AccountNames(fs);
  if (name === "-nouser") return ({ uid }) => names.user(uid) === undefined;
  if (name === "-nogroup") return ({ gid }) => names.group(gid) === undefined;
  if (name === "-user" || name === "-group") {
    const id = name === "-user" ? userIdOf(fs, value) : groupIdOf(fs, value);
    if (id === undefined) return `unknown ${name.slice(1)} ${value}`;
    return ({ uid, gid }) => (name === "-user" ? uid : gid) === id;
  }
  if (name !== "-perm") return undefined;
  const [, sign, text = ""] = /^([-+/]?)(.*)$/s.exec(value) ?? [];
  const wanted = changedMode(text, 0, { isFolder: false, umask: 0 });
  if (wanted === undefined) return `invalid mode '${text}'`;
  if (sign === "") return ({ mode }) => mode === wanted;
  return sign === "-" ? ({ mode }) => (mode & wanted) === wanted : ({ mode }) => (mode & wanted) !== 0;
}

/** A link is neither a file nor a folder. */
function typeTest(type: string): readonly string[] {
  return type === "l" ? "( ! -type f ! -type d )".split(" ") : ["-type", type];
}

/** An age is that of a file whose name is its modification time, Unix ms. */
function ageTest(name: string, value: string, nowMs: number): readonly string[] {
  const [, sign, count] = /^([-+]?)(\d+)$/.exec(value) ?? [];
  const unitMs = AGE_UNITS_MS[name];
  if (unitMs === undefined || count === undefined) return [name, value];
  const younger = (units: number) => ["-newer", `${MOMENT}${nowMs - units * unitMs}`];
  if (sign === "-") return younger(Number(count));
  const older = ["(", "!", ...younger(Number(count) + (sign === "+" ? 1 : 0))];
  return [...older, ...(sign === "+" ? [] : younger(Number(count) + 1)), ")"];
}

async function execute(self: Self, argv: readonly string[]): Promise<number> {
  const child = await startChild(self, argv);
  return typeof child === "number" ? child : exitCodeOf(await child.exited);
}
