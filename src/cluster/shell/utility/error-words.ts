import type { FsError } from "../fs/fs-error.js";
import { resolvePath } from "../fs/paths.js";
import { usageOf } from "../synopses.js";

/**
 * What a command of just-bash prints about a failed file operation, in the words of busybox. just-bash prints errors of
 * its own file system, or takes each of them for a missing file.
 * @param refused the errors of the command's operations, in order
 */
export function busyboxErrors(
  stderr: string,
  command: { readonly text: string; readonly args: readonly string[]; readonly cwd: string },
  refused: readonly FsError[],
): string {
  if (refused.length === 0) return stderr;
  const { text: program, args, cwd } = command;
  const left = [...refused];
  /** as the user wrote it */
  const nameOf = (path: string) => args.find((arg) => resolvePath(cwd, arg) === path) ?? path;
  const lineOf = (line: string): string => {
    const code = /\b(E[A-Z]+): [a-z -]+, \w+ '/.exec(line)?.[1];
    if (code !== undefined) {
      const at = left.findIndex((error) => error.code === code);
      const [error] = at < 0 ? [] : left.splice(at, 1);
      return error === undefined ? line : `${program}: ${nameOf(error.path)}: ${error.text}`;
    }
    const [, missing = ""] = /^\w+: (.+): No such file or directory$/.exec(line) ?? [];
    const hidden = left.find((error) => error.code !== "ENOENT" && error.path === resolvePath(cwd, missing));
    return missing === "" || hidden === undefined ? line : `${program}: ${missing}: ${hidden.text}`;
  };
  return stderr.split("\n").map(lineOf).join("\n");
}

type Words = readonly [pattern: RegExp, words: string | undefined];

/** Lines of just-bash about wrong arguments, without the program's name, and busybox's; undefined: only the usage. */
const REFUSALS: Readonly<Record<string, readonly Words[]>> = {
  __proto__: null as never,
  awk: [
    [/^missing program$/, undefined],
    [
      /^(?:Expected|Unexpected|unexpected|Unterminated|Invalid character) .* at line (\d+):\d+$/,
      "cmd. line:$1: Unexpected token",
    ],
  ],
  comm: [[/^missing operand.*$/, undefined]],
  cut: [
    [/^you must specify a list of bytes, characters, or fields$/, "expected a list of bytes, characters, or fields"],
  ],
  expr: [
    [/^missing operand$/, "too few arguments"],
    [/^non-integer argument$/, "non-numeric argument"],
  ],
  grep: [
    [/^missing pattern$/, undefined],
    [/^invalid regular expression: (.*)$/, "bad regex '$1'"],
  ],
  diff: [[/^missing operand$/, undefined]],
  readlink: [[/^missing operand$/, undefined]],
  sed: [
    [/^no script specified$/, undefined],
    [/^invalid command: unterminated substitution pattern$/, "unmatched '/'"],
    [/^invalid command: ([^y])$/, "unsupported command $1"],
    [/^expected context address$/, "no address after comma"],
  ],
};

/** Options with numbers, by program. */
const NUMBERS: Readonly<Record<string, string>> = { __proto__: null as never, fold: "w", grep: "ABCm", strings: "n" };

/** The problem of an option whose value is no number: just-bash ignores some of them. */
export function numberProblem(name: string, args: readonly string[]): string | undefined {
  const letters = NUMBERS[/^[ef]grep$/.test(name) ? "grep" : name];
  if (letters === undefined) return undefined;
  for (const [at, arg] of args.entries()) {
    const [, letter, attached] = /^-[a-zA-Z]*?([ABCmwn])(.*)$/s.exec(arg) ?? [];
    if (arg === "--") return undefined;
    if (letter === undefined || !letters.includes(letter) || /^-[ef]$/.test(args[at - 1] ?? "")) continue;
    const value = attached || args[at + 1];
    if (value !== undefined && !/^\d+$/.test(value)) return `${name}: invalid number '${value}'\n`;
  }
  return undefined;
}

/** What follows an unknown option is the usage. */
const OPTION = /^(?:invalid option -- '.'|unrecognized option '.*'|option requires an argument -- '.')$/;

/**
 * The refusal of wrong arguments in the words of busybox, with its usage.
 * @returns undefined if the text is none
 */
export function busyboxRefusal(
  stderr: string,
  name: string,
): { readonly text: string; readonly exitCode: number | undefined } | undefined {
  const program = /^[ef]grep$/.test(name) ? "grep" : name;
  // just-bash's egrep is grep.
  const [line = "", ...more] = stderr
    .trimEnd()
    .replace(/^grep: /, `${program === "grep" ? name : "grep"}: `)
    .split("\n");
  if (more.length > 0 || !line.startsWith(`${name}: `)) return undefined;
  const problem = line.slice(name.length + 2);
  const usage = usageOf(name);
  if (OPTION.test(problem) && usage !== undefined) return { text: `${line}\n${usage.text}`, exitCode: usage.code };
  for (const [pattern, words] of REFUSALS[program] ?? []) {
    if (!pattern.test(problem)) continue;
    if (words !== undefined) return { text: `${name}: ${problem.replace(pattern, words)}\n`, exitCode: undefined };
    return usage === undefined ? undefined : { text: usage.text, exitCode: usage.code };
  }
  return undefined;
}
