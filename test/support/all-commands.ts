import { PassThrough } from "node:stream";
import type { Command } from "commander";
import { buildProgram } from "../../src/commands/cli/program.js";
import { CliSession } from "../../src/commands/cli/session.js";
import { COMMANDS } from "../../src/commands/command-table.js";
import { PROGRAM } from "../../src/commands/main.js";
import { SystemRandom } from "../../src/util/random.js";

/** A command or subcommand with the words that name it: `token create`. */
export interface NamedCommand {
  readonly words: string;
  readonly command: Command;
}

/** All commands and subcommands, as a line in this language builds them. */
export async function allCommands(language: "en" | "zh" = "en"): Promise<readonly NamedCommand[]> {
  const found: NamedCommand[] = [];
  for (const { name } of COMMANDS) {
    const edge = {
      env: {},
      cwd: ".",
      streams: { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
      random: new SystemRandom(),
      self: ["false"],
      signal: new AbortController().signal,
    };
    const program = await buildProgram([name, "--help", "--lang", language], "", new CliSession(edge, PROGRAM));
    if (found.length === 0) found.push({ words: "", command: program });
    const command = program.commands.find((one) => one.name() === name);
    if (command !== undefined) found.push(...withInner(name, command));
  }
  return found;
}

function withInner(words: string, command: Command): NamedCommand[] {
  return [{ words, command }, ...command.commands.flatMap((one) => withInner(`${words} ${one.name()}`, one))];
}
