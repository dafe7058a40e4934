import { CommanderError } from "commander";
import type { Program, ProgramEdge } from "../testbed/context.js";
import { printable, wrap } from "../trace/terminal/text.js";
import { isAbortError, LabError, openFilesError } from "../util/errors.js";
import { isOnlyGlobal } from "./cli/global-options.js";
import { usageSentences } from "./cli/help-language.js";
import { buildProgram } from "./cli/program.js";
import { CliSession } from "./cli/session.js";
import { COMMANDS } from "./command-table.js";

/** Our own bug: sysexits' EX_SOFTWARE. */
const EXIT_BUG = 70;
const EXIT_USAGE = 2;
const EXIT_INTERRUPTED = 130;

/**
 * Runs one command line, without the program's name. Everything is written through `edge`; nothing is thrown.
 * @returns the exit code
 */
export async function runCli(argv: readonly string[], version: string, edge: ProgramEdge): Promise<number> {
  const session = new CliSession(edge, PROGRAM);
  try {
    // Without arguments, a terminal shows the learner's menu.
    const line = isOnlyGlobal(argv) && canAsk(session) ? [...argv, "learn"] : argv;
    const program = await buildProgram(line, version, session);
    if (isOnlyGlobal(line)) {
      program.outputHelp();
      return 0;
    }
    await program.parseAsync([...line], { from: "user" });
    if (session.startFailure !== undefined) throw session.startFailure;
    return await close(session, edge.signal.aborted ? EXIT_INTERRUPTED : session.exitCode);
  } catch (error) {
    session.stopProgress();
    return await close(session, await report(session.startFailure ?? error, session, argv));
  }
}

function canAsk({ streams }: CliSession): boolean {
  return streams.stdin.isTTY === true && streams.stderr.isTTY === true && streams.stdout.isTTY === true;
}

/** Closes the session. A trace file that cannot be written is an error, unless another error came first. */
async function close(session: CliSession, code: number): Promise<number> {
  try {
    await session.close();
    return code;
  } catch (error) {
    const own = await report(error, session, []);
    return code === 0 ? own : code;
  }
}

/** Prints an error on stderr: one sentence and a hint; a stack only for our own bugs. */
async function report(thrown: unknown, session: CliSession, argv: readonly string[]): Promise<number> {
  const error = openFilesError(thrown) ?? thrown;
  // Learn mode has words of its own.
  const say = await usageSentences(argv, session, false);
  const words = { error: say(session.words.error.trim()), interrupted: say(session.words.interrupted) };
  const { stderr } = session.streams;
  const chalk = session.chalk("stderr");
  // commander has written its own message, or the requested help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  if (error instanceof LabError) {
    // Wrapped for a terminal only, because scripts search for the sentence.
    const lines = (text: string) => {
      const masked = printable(session.secrets.mask(text));
      return stderr.isTTY === true ? wrap(masked, session.width) : [masked];
    };
    const gap = words.error.endsWith(":") ? " " : "";
    const [first = "", ...rest] = lines(`${words.error}${gap}${say(error.message)}`);
    const message = [first.replace(words.error, chalk.red(words.error)), ...rest].join("\n");
    const hint = lines(say(error.hint)).map((line) => chalk.dim(line));
    stderr.write(`${[message, ...hint].join("\n")}\n`);
    return error.exitCode;
  }
  if (session.signal.aborted || isAbortError(error) || isExitPrompt(error)) {
    stderr.write(`${words.interrupted}\n`);
    return EXIT_INTERRUPTED;
  }
  const { withSources } = await import("../util/stack-maps.js");
  const stack = await withSources(error instanceof Error ? (error.stack ?? error.message) : String(error));
  stderr.write(`${[chalk.red("error:"), "kubelab has a bug:", printable(session.secrets.mask(stack))].join(" ")}\n`);
  return EXIT_BUG;
}

/** inquirer's error for Ctrl-C in a prompt. */
function isExitPrompt(error: unknown): boolean {
  return error instanceof Error && error.name === "ExitPromptError";
}

/** For commands that run other commands. */
export const PROGRAM: Program = { commandNames: COMMANDS.map(({ name }) => name), run: runCli };
