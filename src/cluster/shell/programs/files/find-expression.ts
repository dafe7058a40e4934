import type { RE2JS } from "re2js";
import type { ContainerFs } from "../../fs/container-fs.js";
import { changedMode } from "../../fs/mode.js";
import { baseName, resolvePath } from "../../fs/paths.js";
import { EXECUTE } from "../../fs/permission.js";
import type { FileStat } from "../../fs/stat.js";
import { compileGlob, matchesAll } from "../../language/expansion/glob.js";
import { runNow } from "../../language/expansion/patterns.js";
import { AccountNames, groupIdOf, userIdOf } from "../../process/accounts.js";

/** A file that find has come to. */
export interface Found {
  /** as it is printed */
  readonly name: string;
  readonly path: string;
  readonly stat: FileStat;
}

/** What find does with a file. */
export type Action =
  | { readonly kind: "print"; readonly end: string }
  | { readonly kind: "exec"; readonly words: readonly string[] }
  | { readonly kind: "exec-all"; readonly words: readonly string[]; readonly names: string[] }
  | { readonly kind: "delete" | "quit" | "prune" };

/** The expression after the paths: tests and actions with !, -a and -o. */
export type Expression =
  | { readonly kind: "test"; readonly holds: (found: Found) => boolean }
  | { readonly kind: "not"; readonly of: Expression }
  | { readonly kind: "and" | "or"; readonly all: readonly Expression[] }
  | Action;

export interface FindOptions {
  maxDepth: number;
  minDepth: number;
  isDepthFirst: boolean;
  followsLinks: boolean;
  hasAction: boolean;
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

interface Context {
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
  const type = ({ f: "file", d: "directory", l: "symlink", c: "device" } as const)[text];
  if (type === undefined && !/^[bsp]$/.test(text)) throw new FindProblem(`invalid argument '${text}' to '-type'`);
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
function ageTest(text: string, unitMs: number, { nowMs }: Context): Test {
  const holds = compare(text);
  return ({ stat }) => holds(Math.floor((nowMs - stat.mtimeMs) / unitMs));
}

function idTest(text: string, what: "user" | "group", { fs }: Context): Test {
  const id = what === "user" ? userIdOf(fs, text) : groupIdOf(fs, text);
  if (id === undefined) throw new FindProblem(`unknown ${what} ${text}`);
  return ({ stat }) => (what === "user" ? stat.uid : stat.gid) === id;
}

function statOf(name: string, { fs, cwd }: Context): FileStat {
  const path = resolvePath(cwd, name);
  if (!fs.exists(path)) throw new FindProblem(`can't stat '${name}': No such file or directory`);
  return fs.stat(path);
}

function newerTest(name: string, context: Context): Test {
  const { mtimeMs } = statOf(name, context);
  return ({ stat }) => stat.mtimeMs > mtimeMs;
}

function sameTest(name: string, context: Context): Test {
  const { inode, birthMs } = statOf(name, context);
  return ({ stat }) => stat.inode === inode && stat.birthMs === birthMs;
}

/** A basic regular expression: `\\(`, `\\|` and `\\+` are operators there, and `(`, `|` and `+` are characters. */
function regexTest(text: string, { compile }: Context): Test {
  const extended = text.replace(
    /\\([(){}|+?])|([(){}|+?])/g,
    (_all, operator?: string, character = "") => operator ?? `\\${character}`,
  );
  try {
    const pattern = compile?.(extended);
    return ({ name }) => pattern?.matches(name) === true;
  } catch {
    throw new FindProblem(`bad regex '${text}': Invalid regular expression`);
  }
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Tests with a value. Differs: the times of access and change are that of modification. */
const VALUE_TESTS: Readonly<Record<string, (value: string, context: Context) => Test>> = {
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
      [`-${which}min`, (text: string, context: Context) => ageTest(text, MINUTE_MS, context)],
      [`-${which}time`, (text: string, context: Context) => ageTest(text, DAY_MS, context)],
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

const PLAIN_TESTS: Readonly<Record<string, (context: Context) => Test>> = {
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

/** Reads the expression. @throws FindProblem */
export function parseExpression(
  words: readonly string[],
  context: Context,
): { readonly expression: Expression; readonly options: FindOptions } {
  const options = {
    maxDepth: Number.POSITIVE_INFINITY,
    minDepth: 0,
    isDepthFirst: false,
    followsLinks: false,
    hasAction: false,
  };
  let at = 0;
  const argumentOf = (name: string): string => {
    const value = words[at++];
    if (value === undefined) throw new FindProblem(`${name} requires an argument`);
    return value;
  };
  const depthOf = (name: string): number => {
    const value = argumentOf(name);
    if (!/^\d+$/.test(value)) throw new FindProblem(`invalid number '${value}'`);
    return Number(value);
  };
  const act = (action: Action): Action => {
    if (action.kind !== "prune") options.hasAction = true;
    return action;
  };
  const always: Expression = { kind: "test", holds: () => true };
  const commandOf = (): Action => {
    const end = words.findIndex(
      (word, index) => index >= at && (word === ";" || (word === "+" && words[index - 1] === "{}")),
    );
    if (end <= at) throw new FindProblem("-exec requires an argument");
    const command = words.slice(at, end);
    at = end + 1;
    return words[end] === ";" ? { kind: "exec", words: command } : { kind: "exec-all", words: command, names: [] };
  };
  const one = (): Expression => {
    const word = words[at++] ?? "";
    const [valueTest, plainTest] = [VALUE_TESTS[word], PLAIN_TESTS[word]];
    if (valueTest !== undefined) return { kind: "test", holds: valueTest(argumentOf(word), context) };
    if (plainTest !== undefined) return { kind: "test", holds: plainTest(context) };
    switch (word) {
      case "(": {
        const inner = any();
        if (words[at++] !== ")") throw new FindProblem("unpaired '('");
        return inner;
      }
      case "!":
      case "-not":
        return { kind: "not", of: one() };
      case "-maxdepth":
        options.maxDepth = depthOf(word);
        return always;
      case "-mindepth":
        options.minDepth = depthOf(word);
        return always;
      case "-depth":
        options.isDepthFirst = true;
        return always;
      case "-follow":
        options.followsLinks = true;
        return always;
      case "-xdev":
      case "-mount":
        return always;
      case "-print":
      case "-print0":
        return act({ kind: "print", end: word === "-print" ? "\n" : "\0" });
      case "-exec":
        return act(commandOf());
      case "-delete":
        options.isDepthFirst = true;
        return act({ kind: "delete" });
      case "-quit":
        return act({ kind: "quit" });
      case "-prune":
        return { kind: "prune" };
      default:
        throw new FindProblem(`unrecognized: ${word}`, true);
    }
  };
  const several = (): Expression => {
    const all: Expression[] = [];
    while (at < words.length && words[at] !== ")" && words[at] !== "-o" && words[at] !== "-or") {
      if (words[at] === "-a" || words[at] === "-and") at++;
      else all.push(one());
    }
    return { kind: "and", all };
  };
  const any = (): Expression => {
    const all = [several()];
    while (words[at] === "-o" || words[at] === "-or") {
      at++;
      all.push(several());
    }
    return { kind: "or", all };
  };
  const expression = any();
  if (at < words.length) throw new FindProblem(`unrecognized: ${words[at]}`, true);
  const print: Expression = { kind: "print", end: "\n" };
  return { expression: options.hasAction ? expression : { kind: "and", all: [expression, print] }, options };
}
