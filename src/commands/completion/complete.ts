import type { Command, Option } from "commander";
import type { ProgramEdge } from "../../testbed/context.js";
import { COMMANDS } from "../command-table.js";
import { type Candidate, type Completion, wordsAlone } from "./candidate.js";
import { valuesOf } from "./values.js";

const PROGRAM_FLAGS = wordsAlone(["--help", "--version"]);

/** bash writes words into the line as they are, so that no other one is offered: a shell would expand or split it. */
const PLAIN = /^[\w.,:=@%+/-]+$/;

/**
 * The answer to a shell's script: a candidate per line with a tab before its description, or `:files` or `:folders`.
 * Only the command that the line names is loaded.
 * @param words the last one is at the cursor, and may be empty
 */
export async function complete(words: readonly string[], edge: ProgramEdge): Promise<string> {
  const line = withoutEquals(words);
  const current = line.at(-1) ?? "";
  // `--lang=z` is one word in zsh and fish.
  const [, flag, value] = /^(--[\w-]+)=(.*)$/s.exec(current) ?? [];
  const found =
    flag === undefined
      ? await candidatesAt(line.slice(0, -1), current, edge)
      : prefixed(`${flag}=`, await candidatesAt([...line.slice(0, -1), flag], value ?? "", edge));
  if (typeof found === "string") return `:${found}\n`;
  const begins = ({ value }: Candidate) => value.toLowerCase().startsWith(current.toLowerCase());
  return found
    .filter((one) => begins(one) && PLAIN.test(one.value))
    .map(({ value, about }) => `${value}\t${about}\n`)
    .join("");
}

/** bash makes `=` a word of its own: `--lang`, `=`, `z`. */
function withoutEquals(words: readonly string[]): readonly string[] {
  const isSign = (word: string, i: number) => word === "=" && words[i - 1]?.startsWith("--") === true;
  const kept = words.filter((word, i) => !isSign(word, i));
  return words.length > 1 && isSign(words.at(-1) ?? "", words.length - 1) ? [...kept, ""] : kept;
}

function prefixed(prefix: string, found: Completion): Completion {
  return typeof found === "string" ? [] : found.map((one) => ({ ...one, value: prefix + one.value }));
}

async function candidatesAt(before: readonly string[], current: string, edge: ProgramEdge): Promise<Completion> {
  const [name] = before.filter((word) => !word.startsWith("-"));
  if (name === undefined || (name === "help" && before.length === 1)) {
    if (current.startsWith("-")) return PROGRAM_FLAGS;
    return COMMANDS.map(({ name, summary }) => ({ value: name, about: summary }));
  }
  if (!COMMANDS.some((entry) => entry.name === name)) return [];
  const [{ CliSession }, { PROGRAM }, { buildProgram }] = await Promise.all([
    import("../cli/session.js"),
    import("../main.js"),
    import("../cli/program.js"),
  ]);
  const program = await buildProgram([name], "", new CliSession(edge, PROGRAM));
  const command = program.commands.find((one) => one.name() === name);
  return command === undefined ? [] : inCommand(command, before.slice(before.indexOf(name) + 1), current, edge);
}

/** Follows the words into subcommands, over options with their values. */
async function inCommand(
  root: Command,
  words: readonly string[],
  current: string,
  edge: ProgramEdge,
): Promise<Completion> {
  let command = root;
  let given = 0;
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    // The rest is another program's command line.
    if (word === "--") return [];
    if (word.startsWith("-")) {
      const option = command.options.find(({ short, long }) => word === short || word === long);
      if (option?.required !== true) continue;
      if (i === words.length - 1) return valuesOfOption(root, option, edge);
      i += 1;
      continue;
    }
    const inner = command.commands.find((one) => one.name() === word);
    if (inner === undefined) given += 1;
    else [command, given] = [inner, 0];
  }
  if (current.startsWith("-")) return flagsOf(command);
  const inner = given > 0 ? [] : subcommandsOf(command);
  const values = await valuesOfArgument(root, command, given, edge);
  if (typeof values === "string") return inner.length > 0 ? inner : values;
  return [...inner, ...values];
}

function subcommandsOf(command: Command): Candidate[] {
  const help = command.createHelp();
  return help.visibleCommands(command).map((one) => ({ value: one.name(), about: help.subcommandDescription(one) }));
}

function flagsOf(command: Command): Candidate[] {
  const flags = command.createHelp().visibleOptions(command);
  return flags.map(({ long, short, description }) => ({ value: long ?? short ?? "", about: description }));
}

async function valuesOfOption(root: Command, option: Option, { env }: ProgramEdge): Promise<Completion> {
  if (option.argChoices !== undefined) return wordsAlone(option.argChoices);
  const [, kind = ""] = /[<[]([\w-]+)/.exec(option.flags) ?? [];
  return valuesOf(root.name(), option.long ?? "", kind, env);
}

/** @param given how many arguments the line has; the last one of a command may take any number */
async function valuesOfArgument(
  root: Command,
  command: Command,
  given: number,
  { env }: ProgramEdge,
): Promise<Completion> {
  const all = command.registeredArguments;
  const last = all.at(-1);
  const argument = all[given] ?? (last?.variadic === true ? last : undefined);
  if (argument === undefined) return [];
  if (argument.argChoices !== undefined) return wordsAlone(argument.argChoices);
  return valuesOf(root.name(), argument.name(), argument.name(), env);
}
