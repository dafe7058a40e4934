import { errorText, FsError, failureText } from "../fs/fs-error.js";
import { StackOverflowError } from "../process/process.js";
import { BUILTINS, type Builtin, isSpecialBuiltin } from "./builtins.js";
import { expandText, expandWord, literalText } from "./expansion/expand.js";
import { runExternal } from "./external.js";
import { redirect } from "./redirect.js";
import type { Shell } from "./shell.js";
import { Leave, type Saved, ShellError } from "./state.js";
import type { AssignmentNode, SimpleCommandNode, WordNode } from "./syntax/ast.js";
import { quote } from "./syntax/quote.js";

/** Builtins whose `NAME=value` arguments are assignments: without splitting and file names. */
const DECLARATIONS = new Set(["export", "readonly", "local", "declare", "typeset"]);

/**
 * Runs `VAR=value name args < file`.
 * @param isLast the shell ends afterwards: a program replaces it, as in `sh -c 'sleep 60'`
 */
export async function runSimpleCommand(node: SimpleCommandNode, shell: Shell, isLast: boolean): Promise<number> {
  const statusBefore = shell.state.lastStatus;
  const argv = await expandArguments(node, shell);
  return shell.holding(argv, () => runExpanded(node, argv, shell, { isLast, statusBefore }));
}

async function runExpanded(
  node: SimpleCommandNode,
  argv: readonly string[],
  shell: Shell,
  { isLast, statusBefore }: { readonly isLast: boolean; readonly statusBefore: number },
): Promise<number> {
  const [name] = argv;
  let restore = () => {};
  try {
    restore = await redirect(node.redirections, shell);
  } catch (error) {
    if (!(error instanceof ShellError)) throw error;
    // POSIX: such an error ends the shell if the builtin is special, else only the command.
    if (name !== undefined && isSpecialBuiltin(name)) throw error;
    await shell.complain(error.message);
    return error.status;
  }
  try {
    if (name === undefined) {
      for (const assignment of node.assignments) await assign(assignment, shell);
      // The status of `x=$(cmd)` is the status of cmd.
      return substitutes(node) ? shell.state.lastStatus : 0;
    }
    shell.state.lastStatus = statusBefore;
    if (shell.state.options.has("x")) await shell.print(`+ ${argv.join(" ")}\n`, 2);
    if (name === "exec")
      return await runExec(node, argv.slice(1), shell, () => {
        restore = () => {};
      });
    return await dispatch(node, argv, shell, isLast);
  } finally {
    restore();
  }
}

function substitutes(node: SimpleCommandNode): boolean {
  return JSON.stringify(node.assignments).includes('"CommandSubstitution"');
}

async function expandArguments(node: SimpleCommandNode, shell: Shell): Promise<string[]> {
  if (node.name === null) return [];
  const isDeclaration = DECLARATIONS.has(literalText(node.name) ?? "");
  const argv: string[] = [];
  for (const word of [node.name, ...node.args]) {
    if (isDeclaration && isAssignment(word)) argv.push(await expandText(word, shell));
    else for (const text of await expandWord(word, shell)) argv.push(text);
  }
  return argv;
}

function isAssignment(word: WordNode): boolean {
  const [part] = word.parts;
  return part?.type === "Literal" && /^[A-Za-z_]\w*=/.test(part.value);
}

async function assign({ name, value, append }: AssignmentNode, shell: Shell): Promise<void> {
  const text = value === null ? "" : await expandText(value, shell);
  const { state } = shell;
  const before = append ? (state.get(name) ?? "") : "";
  shell.self.memory.requireText(before.length + text.length);
  if (!state.set(name, before + text)) throw new ShellError(`${name}: is read only`);
}

async function dispatch(
  node: SimpleCommandNode,
  argv: readonly string[],
  shell: Shell,
  isLast: boolean,
): Promise<number> {
  const name = argv[0] as string;
  const alias =
    literalText(node.name ?? { type: "Word", parts: [] }) === name ? shell.state.aliases.get(name) : undefined;
  if (alias !== undefined) return withAssignments(node, shell, () => runAlias(name, alias, argv.slice(1), shell));
  const body = shell.state.functions.get(name);
  if (body !== undefined) return withAssignments(node, shell, () => runFunction(name, argv.slice(1), shell));
  const builtin = BUILTINS[name];
  if (builtin === undefined) return withAssignments(node, shell, () => runExternal(argv, shell, isLast));
  if (!isSpecialBuiltin(name)) return withAssignments(node, shell, () => runBuiltin(builtin, argv, shell));
  for (const assignment of node.assignments) await assign(assignment, shell);
  return runBuiltin(builtin, argv, shell);
}

/** Runs the text of an alias, in which its name means the command. Differs: an alias holds at once, also on its own line. */
async function runAlias(name: string, text: string, args: readonly string[], shell: Shell): Promise<number> {
  const { aliases } = shell.state;
  aliases.delete(name);
  try {
    return await shell.runText([text, ...args.map(quote)].join(" "));
  } finally {
    if (!aliases.has(name)) aliases.set(name, text);
  }
}

/** The letters of builtins that refuse all others. */
const LETTERS: ReadonlyMap<string, string> = new Map([
  ["pwd", "LP"],
  ["cd", "LPe"],
  ["export", "p"],
  ["readonly", "p"],
  ["unset", "fv"],
  ["umask", "S"],
  ["jobs", "lp"],
  ["hash", "r"],
]);

const isTest = (name: string | undefined) => name === "test" || name === "[";

/** @throws ShellError */
function requireLetters([name = "", ...args]: readonly string[]): void {
  const letters = LETTERS.get(name);
  if (letters === undefined) return;
  for (const arg of args) {
    if (!/^-./.test(arg) || arg === "--") return;
    const wrong = [...arg.slice(1)].find((letter) => !letters.includes(letter));
    if (wrong !== undefined) throw new ShellError(`illegal option -${wrong}`);
  }
}

/** File and usage errors end the builtin, not the shell. */
async function runBuiltin(builtin: Builtin, argv: readonly string[], shell: Shell): Promise<number> {
  try {
    requireLetters(argv);
    return await builtin(argv.slice(1), shell);
  } catch (error) {
    const isSpecial = isSpecialBuiltin(argv[0] as string);
    if (error instanceof ShellError && !isSpecial) {
      await shell.complain(isTest(argv[0]) ? error.message : `${argv[0]}: ${error.message}`);
      return error.status;
    }
    if (!(error instanceof FsError)) throw error;
    await shell.complain(error.code === "ENOSPC" ? failureText(error) : `${argv[0]}: ${errorText(error)}`);
    return 1;
  }
}

/** `A=b command`: exported to the command, and restored afterwards. */
async function withAssignments(node: SimpleCommandNode, shell: Shell, run: () => Promise<number>): Promise<number> {
  if (node.assignments.length === 0) return run();
  const before = new Map<string, Saved>();
  for (const assignment of node.assignments) {
    if (!before.has(assignment.name)) before.set(assignment.name, shell.state.save(assignment.name));
    await assign(assignment, shell);
    shell.state.set(assignment.name, shell.state.get(assignment.name) ?? "", { isExported: true });
  }
  try {
    return await run();
  } finally {
    for (const [name, saved] of before) shell.state.restore(name, saved);
  }
}

/** About the depth at which a shell's stack of 8 MB ends. */
const MAX_FUNCTION_DEPTH = 2000;

/** Calls a shell function. */
async function runFunction(name: string, args: readonly string[], shell: Shell): Promise<number> {
  const { state } = shell;
  const body = state.functions.get(name);
  if (body === undefined) return 127;
  if (state.functionDepth >= MAX_FUNCTION_DEPTH) throw new StackOverflowError();
  const { parameters, loopDepth } = state;
  state.parameters = args;
  state.loopDepth = 0;
  state.functionDepth++;
  state.locals.push(new Map());
  try {
    return await shell.runCommand({ ...body.body, redirections: [...body.body.redirections, ...body.redirections] });
  } catch (error) {
    if (!(error instanceof Leave) || error.how !== "return") throw error;
    return error.count;
  } finally {
    state.functionDepth--;
    state.parameters = parameters;
    state.loopDepth = loopDepth;
    for (const [local, saved] of state.locals.pop() ?? []) state.restore(local, saved);
  }
}

/** `exec command` ends the shell; `exec > file` redirects the shell itself. */
async function runExec(
  node: SimpleCommandNode,
  argv: readonly string[],
  shell: Shell,
  keepRedirections: () => void,
): Promise<number> {
  for (const assignment of node.assignments) await assign(assignment, shell);
  if (argv.length === 0) {
    keepRedirections();
    return 0;
  }
  shell.traps.takeExit();
  throw new Leave("exit", await runExternal(argv, shell, true));
}
