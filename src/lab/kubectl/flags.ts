import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { messageOf } from "../../util/errors.js";
import { type Flag, type FlagNotation, flagsOf, GLOBAL_FLAGS } from "./flag-notation.js";
import { lineError } from "./line-error.js";
import { isGroup, unknownFlag, unknownVerb } from "./unknown-words.js";

/** A parsed kubectl line. */
export interface KubectlLine {
  /** `get`, `rollout status` */
  readonly verb: string;
  readonly words: readonly string[];
  /** by its long name: every value that was given; `true` for a switch */
  readonly flags: Readonly<Record<string, readonly string[]>>;
  /** the words after `--` */
  readonly rest: readonly string[];
}

/**
 * Parses a command line by the flags that its verb declares.
 * @param verbs the flags by verb; the longest verb that the line begins with counts
 * @throws LabError USAGE for verbs and flags that only kubectl itself has, FAILED for those that no kubectl has
 */
export function parseLine(argv: readonly string[], verbs: Readonly<Record<string, FlagNotation>>): KubectlLine {
  const dashes = argv.indexOf("--");
  const line = dashes < 0 ? argv : argv.slice(0, dashes);
  const verb = verbOf(line, verbs);
  const parsed = split(verb, line, flagsOf(`${verbs[verb]} ${GLOBAL_FLAGS}`));
  const words = parsed.words.slice(verb.split(" ").length);
  return { verb, words, flags: parsed.flags, rest: dashes < 0 ? [] : argv.slice(dashes + 1) };
}

/** The verb follows the global flags and has one, two or three words. */
function verbOf(line: readonly string[], verbs: Readonly<Record<string, FlagNotation>>): string {
  const words = line.slice(verbAt(line));
  const known = Object.keys(verbs);
  const verb = longestVerb(words, known);
  const next = verb === undefined ? undefined : words[verb.split(" ").length];
  // `create` is a verb itself, but a word after it must be one of its subcommands.
  const isSubcommand = next !== undefined && !next.startsWith("-") && isGroup(verb ?? "", known);
  if (verb === undefined || isSubcommand) throw unknownVerb(words, known);
  return verb;
}

/** The index of a line's verb, after the global flags. */
export function verbAt(line: readonly string[]): number {
  const global = byWord(flagsOf(GLOBAL_FLAGS));
  let at = 0;
  while (line[at]?.startsWith("-") === true) at += global.get(line[at] ?? "")?.takesValue === true ? 2 : 1;
  return at;
}

const ALIASES: Readonly<Record<string, string>> = {
  "create deploy": "create deployment",
  "create dep": "create deployment",
  "create ns": "create namespace",
  "create cm": "create configmap",
  "create resourcequota": "create quota",
  "top pods": "top pod",
  "top nodes": "top node",
  "top no": "top node",
  "top po": "top pod",
  "config use": "config use-context",
};

/** The longest verb that a line's words begin with. */
export function longestVerb(words: readonly string[], verbs: readonly string[]): string | undefined {
  const beginnings = [3, 2, 1].map((count) => words.slice(0, count).join(" "));
  return beginnings.map((words) => ALIASES[words] ?? words).find((verb) => verbs.includes(verb));
}

/** @returns the flags as they are written: `--output`, `-o` */
function byWord(flags: readonly Flag[]): ReadonlyMap<string, Flag> {
  return new Map(
    flags.flatMap((flag): [string, Flag][] => [
      ...(flag.short === undefined ? [] : [[`-${flag.short}`, flag] as [string, Flag]]),
      [`--${flag.name}`, flag],
    ]),
  );
}

function split(verb: string, line: readonly string[], declared: readonly Flag[]) {
  const known = byWord(declared);
  const flags: Record<string, string[]> = {};
  const words: string[] = [];
  const left = [...line];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (!word.startsWith("-") || word === "-") {
      words.push(word);
      continue;
    }
    const [, name = word, equals, given] = /^(--[^=]+|-\w)(=?)(.*)$/s.exec(word) ?? [];
    const flag = known.get(name);
    if (flag === undefined) throw unknownFlag(verb, name, word, declared);
    let value = equals === "=" || (flag.takesValue && given !== "") ? given : flag.implied;
    // Switches in one word: `-it`.
    if (!flag.takesValue && equals === "" && given !== "") left.unshift(`-${given}`);
    if (flag.takesValue && value === undefined) value = left.shift();
    if (value === undefined) throw lineError(verb, withoutValue(name));
    flags[flag.name] = [...(flags[flag.name] ?? []), value];
  }
  return { words, flags };
}

/** As Go's pflag reports it, which kubectl prints. */
function withoutValue(name: string): string {
  return `flag needs an argument: ${name.startsWith("--") ? name : `'${name.slice(1)}' in ${name}`}`;
}

/** The value of a flag; the last one, if it was repeated. */
export function text(line: KubectlLine, flag: string): string | undefined {
  return line.flags[flag]?.at(-1);
}

/** The value of a flag as a whole number. @throws LabError FAILED, as Go's pflag reports it */
export function integerOf({ verb }: KubectlLine, flag: string, value: string): number {
  if (/^[+-]?\d+$/.test(value)) return Number(value);
  const text = JSON.stringify(value);
  throw lineError(
    verb,
    `invalid argument ${text} for "--${flag}" flag: strconv.ParseInt: parsing ${text}: invalid syntax`,
  );
}

/** The value of a flag as a duration, in ms. @throws LabError FAILED, as Go's pflag reports it */
export function durationOf({ verb }: KubectlLine, flag: string, value: string): number {
  try {
    return parseGoDuration(value);
  } catch (error) {
    throw lineError(verb, `invalid argument ${JSON.stringify(value)} for "--${flag}" flag: ${messageOf(error)}`);
  }
}

/** Every value of a flag. */
export function texts(line: KubectlLine, flag: string): readonly string[] {
  return line.flags[flag] ?? [];
}

/** Whether a switch is on: `--all`, but not `--all=false`. */
export function isOn(line: KubectlLine, flag: string): boolean {
  return text(line, flag) === "true";
}
