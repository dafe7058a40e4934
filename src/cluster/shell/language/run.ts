import { errorText } from "../fs/fs-error.js";
import { resolvePath } from "../fs/paths.js";
import { openSource } from "../process/descriptors.js";
import type { Self } from "../process/process.js";
import { terminalOf } from "../process/terminal.js";
import { readAll, readLine } from "../streams.js";
import { Interpreter } from "./interpreter.js";
import { ShellError, type ShellOption, ShellState } from "./state.js";
import { ashSyntaxError, isInterpretable, type ScriptNode } from "./syntax/ast.js";
import { loadLanguage, type ShellLanguage } from "./syntax/language.js";
import { runWhole } from "./utilities.js";

/** `sh [-OPTIONS] [-c COMMAND [NAME [ARG...]] | FILE [ARG...]]`; without either it reads commands from stdin. */
export async function runShell(self: Self): Promise<number> {
  const language = await loadLanguage();
  const state = startState(self);
  const args = readOptions(self.argv.slice(1), state);
  const shell = new Interpreter(self, state, language);
  if (args.command !== undefined) {
    state.name = args.rest[0] ?? state.name;
    state.parameters = args.rest.slice(1);
    const { command } = args;
    return shell.toTheEnd(() => runProgram(command, shell));
  }
  const [file, ...rest] = args.rest;
  if (file === undefined) return shell.toTheEnd(() => readCommands(shell, language));
  let text: Buffer;
  try {
    text = await readAll(openSource(self, resolvePath(self.cwd, file)), self.signal, self);
  } catch (error) {
    await shell.complain(`can't open '${file}': ${errorText(error)}`);
    return state.isBash ? 127 : 2;
  }
  state.name = file;
  state.parameters = rest;
  return shell.toTheEnd(() => runProgram(text.toString(), shell));
}

function startState(self: Self): ShellState {
  const state = new ShellState();
  state.holdIn(self.memory);
  for (const [name, value] of Object.entries(self.env)) state.set(name, value, { isExported: true });
  state.name = self.argv[0] ?? "sh";
  state.isBash = /(^|\/)bash$/.test(state.name);
  if (state.isBash) state.set("BASH_VERSION", "5.2.15(1)-release");
  state.shellPid = self.pid;
  state.cwd = self.cwd;
  state.umask = self.umask;
  state.set("PWD", self.cwd, { isExported: true });
  if (state.get("PATH") === undefined) state.set("PATH", "/sbin:/usr/sbin:/bin:/usr/bin");
  state.set("OPTIND", "1");
  state.descriptors.set(0, { source: self.stdin });
  state.descriptors.set(1, { sink: self.stdout });
  state.descriptors.set(2, { sink: self.stderr });
  return state;
}

function readOptions(
  args: readonly string[],
  state: ShellState,
): { readonly command?: string; readonly rest: readonly string[] } {
  let at = 0;
  let hasCommand = false;
  for (; at < args.length && /^[-+]./.test(args[at] as string); at++) {
    const arg = args[at] as string;
    if (arg === "--") {
      at++;
      break;
    }
    if (arg.startsWith("--")) continue; // --login, --noprofile, ...
    for (const letter of arg.slice(1)) {
      if (letter === "c") hasCommand = true;
      else if (letter === "o") at++;
      else if (arg.startsWith("-")) state.options.add(letter as ShellOption);
    }
  }
  const command = hasCommand ? args[at] : undefined;
  if (hasCommand && command === undefined) throw new ShellError("-c requires an argument");
  return command === undefined ? { rest: args.slice(at) } : { command, rest: args.slice(at + 1) };
}

/** Runs a whole script. Its last command can replace the shell. */
async function runProgram(text: string, shell: Interpreter): Promise<number> {
  const script = shell.parse(text);
  if (!isInterpretable(script, shell.state.isBash)) return runOther(text, script, shell);
  const last = script.statements.length - 1;
  for (const [index, statement] of script.statements.entries()) await shell.runStatement(statement, index === last);
  return shell.state.lastStatus;
}

/** Runs what our interpreter does not support. @throws ShellError for syntax that the shell does not have */
function runOther(text: string, script: ScriptNode, shell: Interpreter): Promise<number> {
  const error = shell.state.isBash ? undefined : ashSyntaxError(script);
  if (error !== undefined) throw new ShellError(error);
  if (shell.state.options.has("n")) return Promise.resolve(0);
  return runWhole(text, shell);
}

/** Reads commands line by line and runs each one as soon as it is complete; on a terminal with a prompt. */
async function readCommands(shell: Interpreter, language: ShellLanguage): Promise<number> {
  const stdin = shell.source(0);
  const terminal = terminalOf(stdin);
  if (terminal !== undefined) {
    const { runInteractive } = await import("./interactive/interactive.js");
    return runInteractive(shell, terminal, language, (text) => runChunk(text, shell, true));
  }
  const isInteractive = shell.state.options.has("i" as ShellOption);
  let text = "";
  for (;;) {
    if (isInteractive) await shell.print(text === "" ? prompt(shell) : "> ", 2);
    const line = await readLine(stdin, shell.signal, shell.self);
    if (line !== undefined) text += line.toString();
    if (text !== "" && (line === undefined || !language.isIncomplete(text))) {
      const chunk = text;
      text = "";
      await runChunk(chunk, shell, isInteractive);
    }
    if (line === undefined) return shell.state.lastStatus;
  }
}

async function runChunk(text: string, shell: Interpreter, isInteractive: boolean): Promise<void> {
  try {
    const script: ScriptNode = shell.parse(text);
    if (isInterpretable(script, shell.state.isBash)) await shell.runScript(script);
    else shell.state.lastStatus = await runOther(text, script, shell);
  } catch (error) {
    if (!(error instanceof ShellError) || !isInteractive) throw error;
    await shell.complain(error.message);
    shell.state.lastStatus = error.status;
  }
}

function prompt({ state, self }: Interpreter): string {
  return `${state.cwd} ${self.machine.user.uid === 0 ? "#" : "$"} `;
}
