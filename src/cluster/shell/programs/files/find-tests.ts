import type { RE2JS } from "re2js";
import type { ContainerFs } from "../../fs/container-fs.js";
import { changedMode } from "../../fs/mode.js";
import { baseName, resolvePath } from "../../fs/paths.js";
import { EXECUTE } from "../../fs/permission.js";
import type { FileStat } from "../../fs/stat.js";
import { compileGlob, matchesAll } from "../../language/expansion/glob.js";
import { runNow } from "../../language/expansion/patterns.js";
import { AccountNames, groupIdOf, userIdOf } from "../../process/accounts.js";
import { extendedRegex } from "../../utility/basic-regex.js";

/** A file that find has come to. */
export interface Found {
  /** as it is printed */
  readonly name: string;
  readonly path: string;
  readonly stat: FileStat;
}

/** A wrong argument. */
export class FindProblem extends Error {
  override readonly name = "FindProblem";
  /** @param hasUsage whether the usage follows */
  constructor(
    message: string,
    readonly hasUsage = false,
  ) {
    super(message);
  }
}

/** What tests need of the machine. */
export interface FindContext {
  readonly fs: ContainerFs;
  readonly cwd: string;
  readonly nowMs: number;
  /** of regular expressions, in linear time; loaded when one is given */
  readonly compile: typeof RE2JS.compile | undefined;
}

type Test = (found: Found) => boolean;

const SIZE_UNITS: Readonly<Record<string, number>> = { "": 512, b: 512, c: 1, k: 1024 };

/** `+3`, `-3`, `3` @throws FindProblem */
function compare(text: string, units: Readonly<Record<string, number>> = { "": 1 }): (value: number) => boolean {
  const [, sign, digits, letter = ""] = /^([-+]?)(\d+)([a-z]?)$/.exec(text) ?? [];
  const unit = units[letter];
  if (digits === undefined || unit === undefined)
    throw new FindProblem(`invalid number '${text.replace(/^[-+]/, "")}'`);
  const wanted = Number(digits) * unit;
  if (sign === "+") return (value) => value > wanted;
  return sign === "-" ? (value) => value < wanted : (value) => value === wanted;
}

function nameTest(pattern: string, ignoresCase: boolean, textOf: (found: Found) => string): Test {
  const fold = (text: string) => (ignoresCase ? text.toLowerCase() : text);
  const glob = compileGlob([{ text: fold(pattern), isQuoted: false }]);
  return (found) => runNow(matchesAll(glob, fold(textOf(found))));
}

function typeTest(text: string): Test {
  const type = ({ f: "file", d: "directory", l: "symlink", c: "device", s: "socket" } as const)[text];
  if (type === undefined && !/^[bp]$/.test(text)) throw new FindProblem(`invalid argument '${text}' to '-type'`);
  return ({ stat }) => stat.type === type;
}

function permTest(text: string): Test {
  const [, sign, mode = ""] = /^([-+/]?)(.*)$/s.exec(text) ?? [];
  const wanted = changedMode(mode, 0, { isFolder: false, umask: 0 });
  if (wanted === undefined) throw new FindProblem(`invalid mode '${mode}'`);
  if (sign === "") return ({ stat }) => stat.mode === wanted;
  return sign === "-" ? ({ stat }) => (stat.mode & wanted) === wanted : ({ stat }) => (stat.mode & wanted) !== 0;
}

/** Ages count in whole units. */
function ageTest(text: string, unitMs: number, { nowMs }: FindContext): Test {
  const holds = compare(text);
  return ({ stat }) => holds(Math.floor((nowMs - stat.mtimeMs) / unitMs));
}

function idTest(text: string, what: "user" | "group", { fs }: FindContext): Test {
  const id = what === "user" ? userIdOf(fs, text) : groupIdOf(fs, text);
  if (id === undefined) throw new FindProblem(`unknown ${what} ${text}`);
  return ({ stat }) => (what === "user" ? stat.uid : stat.gid) === id;
}

function statOf(name: string, { fs, cwd }: FindContext): FileStat {
  const path = resolvePath(cwd, name);
  if (!fs.exists(path)) throw new FindProblem(`can't stat '${name}': No such file or directory`);
  return fs.stat(path);
}

function newerTest(name: string, context: FindContext): Test {
  const { mtimeMs } = statOf(name, context);
  return ({ stat }) => stat.mtimeMs > mtimeMs;
}

function sameTest(name: string, context: FindContext): Test {
  const { inode, birthMs } = statOf(name, context);
  return ({ stat }) => stat.inode === inode && stat.birthMs === birthMs;
}

function regexTest(text: string, { compile }: FindContext): Test {
  try {
    const pattern = compile?.(extendedRegex(text));
    return ({ name }) => pattern?.matches(name) === true;
  } catch {
    throw new FindProblem(`bad regex '${text}': Invalid regular expression`);
  }
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Tests with a value. Differs: the times of access and change are that of modification. */
export const VALUE_TESTS: Readonly<Record<string, (value: string, context: FindContext) => Test>> = {
  __proto__: null as never,
  "-name": (text) => nameTest(text, false, ({ name }) => baseName(name)),
  "-iname": (text) => nameTest(text, true, ({ name }) => baseName(name)),
  "-path": (text) => nameTest(text, false, ({ name }) => name),
  "-ipath": (text) => nameTest(text, true, ({ name }) => name),
  "-regex": regexTest,
  "-type": typeTest,
  "-perm": permTest,
  "-user": (text, context) => idTest(text, "user", context),
  "-group": (text, context) => idTest(text, "group", context),
  ...Object.fromEntries(
    ["m", "a", "c"].flatMap((which) => [
      [`-${which}min`, (text: string, context: FindContext) => ageTest(text, MINUTE_MS, context)],
      [`-${which}time`, (text: string, context: FindContext) => ageTest(text, DAY_MS, context)],
    ]),
  ),
  "-newer": newerTest,
  "-samefile": sameTest,
  "-inum": (text) => {
    const holds = compare(text);
    return ({ stat }) => holds(stat.inode);
  },
  "-links": (text) => {
    const holds = compare(text);
    return ({ stat }) => holds(stat.links);
  },
  "-size": (text) => {
    const holds = compare(text, SIZE_UNITS);
    return ({ stat }) => holds(stat.size);
  },
};

/** Tests without a value. */
export const PLAIN_TESTS: Readonly<Record<string, (context: FindContext) => Test>> = {
  __proto__: null as never,
  "-nouser": ({ fs }) => {
    const names = new AccountNames(fs);
    return ({ stat }) => names.user(stat.uid) === undefined;
  },
  "-nogroup": ({ fs }) => {
    const names = new AccountNames(fs);
    return ({ stat }) => names.group(stat.gid) === undefined;
  },
  "-empty":
    ({ fs }) =>
    ({ stat, path }) =>
      stat.type === "directory" ? fs.readdir(path).length === 0 : stat.type === "file" && stat.size === 0,
  "-executable":
    ({ fs }) =>
    ({ path }) =>
      fs.exists(path) && fs.allows(fs.stat(path), EXECUTE),
};
