import { FsError } from "../fs/fs-error.js";
import { resolvePath } from "../fs/paths.js";
import { EXECUTE, READ, SET_GID, SET_UID, STICKY, WRITE } from "../fs/permission.js";
import { evaluate } from "./expansion/arithmetic.js";
import { arithmeticContext, expandPieces, expandText } from "./expansion/expand.js";
import { matches } from "./expansion/patterns.js";
import type { Shell } from "./shell.js";
import { ShellError } from "./state.js";
import type { ConditionalExpression } from "./syntax/ast.js";
import { matchOutside } from "./utilities.js";

const COMPARISONS: Readonly<Record<string, (left: bigint, right: bigint) => boolean>> = {
  "-eq": (left, right) => left === right,
  "-ne": (left, right) => left !== right,
  "-lt": (left, right) => left < right,
  "-le": (left, right) => left <= right,
  "-gt": (left, right) => left > right,
  "-ge": (left, right) => left >= right,
};

/** `[[ expression ]]` */
export async function holds(expression: ConditionalExpression, shell: Shell): Promise<boolean> {
  switch (expression.type) {
    case "CondNot":
      return !(await holds(expression.operand, shell));
    case "CondAnd":
      return (await holds(expression.left, shell)) && holds(expression.right, shell);
    case "CondOr":
      return (await holds(expression.left, shell)) || holds(expression.right, shell);
    case "CondGroup":
      return holds(expression.expression, shell);
    case "CondWord":
      return (await expandText(expression.word, shell)) !== "";
    case "CondUnary":
      return unary(expression.operator, await expandText(expression.operand, shell), shell);
    case "CondBinary": {
      const left = await expandText(expression.left, shell);
      const { operator } = expression;
      if (operator === "==" || operator === "=")
        return matches(left, await expandPieces(expression.right, shell), shell.self.turn);
      if (operator === "!=")
        return !(await matches(left, await expandPieces(expression.right, shell), shell.self.turn));
      const right = await expandText(expression.right, shell);
      if (operator === "=~") return matchesRegExp(left, right, shell);
      if (!(operator in COMPARISONS)) return binary(left, operator, right, shell);
      const number = (text: string) => evaluate(shell.parseArithmetic(text || "0"), arithmeticContext(shell));
      return COMPARISONS[operator]?.(await number(left), await number(right)) ?? false;
    }
  }
}

const MAX_PATTERN_LENGTH = 1_024;
/** The limit for a match in this process: some ten ms. A step is an instruction of the pattern on a character of the text. */
const MAX_STEPS = 200_000;

/** bash's array of what the groups of `=~` matched. Differs: its first ten elements only, and none of long texts. */
const REMATCH = "BASH_REMATCH";
const MAX_GROUPS = 9;

/** In linear time; long ones in a process of their own. @throws ShellError for a pattern that is invalid or too long */
async function matchesRegExp(text: string, source: string, { self, state }: Shell): Promise<boolean> {
  if (source.length > MAX_PATTERN_LENGTH) throw new ShellError("regular expression is too long");
  const { RE2JS } = await import("re2js");
  let pattern: ReturnType<typeof RE2JS.compile>;
  try {
    pattern = RE2JS.compile(source, RE2JS.DOTALL);
  } catch {
    throw new ShellError(`bad regular expression ${source}`);
  }
  if (text.length * pattern.programSize() > MAX_STEPS) return matchOutside(text, source, self);
  const matcher = pattern.matcher(text);
  const isFound = matcher.find();
  for (let group = 0; group <= MAX_GROUPS; group++) {
    const value = isFound && group <= matcher.groupCount() ? (matcher.group(group) ?? "") : undefined;
    if (value === undefined) state.unset(`${REMATCH}[${group}]`);
    else state.set(`${REMATCH}[${group}]`, value, { isExported: false });
  }
  return isFound;
}

/** `test -f x`, `-z ""` @throws ShellError for an unknown operator */
function unary(operator: string, operand: string, shell: Shell): boolean {
  switch (operator) {
    case "-z":
      return operand === "";
    case "-n":
      return operand !== "";
    case "-t":
      return (shell.state.descriptors.get(Number(operand))?.sink ?? shell.source(Number(operand))).isTerminal === true;
    case "-v":
      return shell.state.get(operand) !== undefined;
    case "-o":
      return false;
    default:
      return fileIs(operator, operand, shell);
  }
}

function fileIs(operator: string, name: string, shell: Shell): boolean {
  const path = resolvePath(shell.state.cwd, name);
  const { user } = shell.self.machine;
  try {
    const stat = operator === "-h" || operator === "-L" ? shell.files.lstat(path) : shell.files.stat(path);
    const tests: Readonly<Record<string, boolean>> = {
      "-e": true,
      "-a": true,
      "-f": stat.type === "file",
      "-d": stat.type === "directory",
      "-h": stat.type === "symlink",
      "-L": stat.type === "symlink",
      "-S": stat.type === "socket",
      "-c": stat.type === "device",
      "-s": stat.size > 0,
      "-k": (stat.mode & STICKY) !== 0,
      "-g": (stat.mode & SET_GID) !== 0,
      "-u": (stat.mode & SET_UID) !== 0,
      "-r": shell.files.allows(stat, READ),
      "-w": shell.files.allows(stat, WRITE),
      "-x": shell.files.allows(stat, EXECUTE),
      "-O": stat.uid === user.uid,
      "-G": stat.gid === user.gid,
    };
    return tests[operator] ?? false;
  } catch (error) {
    if (error instanceof FsError) return false;
    throw error;
  }
}

function binary(left: string, operator: string, right: string, shell: Shell): boolean {
  switch (operator) {
    case "=":
    case "==":
      return left === right;
    case "!=":
      return left !== right;
    case "<":
      return left < right;
    case ">":
      return left > right;
    case "-nt":
    case "-ot": {
      const [first, second] = [left, right].map((name) => modified(name, shell));
      return operator === "-nt" ? (first ?? 0) > (second ?? 0) : (first ?? 0) < (second ?? 0);
    }
    case "-ef": {
      const paths = [left, right].map((name) => resolvePath(shell.state.cwd, name));
      const files = paths.filter((path) => shell.files.exists(path));
      return new Set(files.map((path) => shell.files.realpath(path))).size === 1 && files.length === 2;
    }
    default: {
      const compare = COMPARISONS[operator];
      if (compare === undefined) throw new ShellError(`${operator}: unknown operand`);
      return compare(integer(left), integer(right));
    }
  }
}

function modified(name: string, shell: Shell): number | undefined {
  const path = resolvePath(shell.state.cwd, name);
  return shell.files.exists(path) ? shell.files.stat(path).mtimeMs : undefined;
}

/** Longer texts are refused, because reading them takes long. */
const MAX_INTEGER_LENGTH = 64;

function integer(text: string): bigint {
  const trimmed = text.trim();
  if (!/^[-+]?\d+$/.test(trimmed)) throw new ShellError(text === "" ? "bad number" : `${text}: bad number`);
  const value = trimmed.length > MAX_INTEGER_LENGTH ? undefined : BigInt(trimmed.replace(/^\+/, ""));
  if (value === undefined || value !== BigInt.asIntN(64, value)) throw new ShellError(`${text}: out of range`);
  return value;
}

const UNARY = /^-[bcdefghkLnoprsStuvwxzOGNa]$/;
const BINARY = /^(=|==|!=|<|>|-eq|-ne|-lt|-le|-gt|-ge|-nt|-ot|-ef)$/;

/** `test expression`: POSIX's rules by number of arguments, with `-a`, `-o`, `!` and parentheses. */
export function test(args: readonly string[], shell: Shell): boolean {
  const rest = [...args];
  const value = or(rest, shell);
  if (rest.length > 0) throw new ShellError(`${rest[0]}: unknown operand`);
  return value;
}

function or(rest: string[], shell: Shell): boolean {
  let value = and(rest, shell);
  while (rest[0] === "-o") {
    rest.shift();
    if (rest.length === 0) throw new ShellError("argument expected");
    const right = and(rest, shell);
    value = value || right;
  }
  return value;
}

function and(rest: string[], shell: Shell): boolean {
  let value = primary(rest, shell);
  while (rest[0] === "-a") {
    rest.shift();
    if (rest.length === 0) throw new ShellError("argument expected");
    const right = primary(rest, shell);
    value = value && right;
  }
  return value;
}

function primary(rest: string[], shell: Shell): boolean {
  const [first, second, third] = rest;
  if (first === undefined) return false;
  if (second !== undefined && third !== undefined && BINARY.test(second)) {
    rest.splice(0, 3);
    return binary(first, second, third, shell);
  }
  if (first === "!" && rest.length > 1) {
    rest.shift();
    return !primary(rest, shell);
  }
  if (first === "(" && second !== undefined) {
    rest.shift();
    const value = or(rest, shell);
    if (rest.shift() !== ")") throw new ShellError("closing paren expected");
    return value;
  }
  if (second !== undefined && UNARY.test(first)) {
    rest.splice(0, 2);
    return unary(first, second, shell);
  }
  rest.shift();
  return first !== "";
}
