import { Command, type ErrorOptions } from "commander";
import { enterScope } from "../../trace/scope.js";
import { CAUSES_LEVEL } from "../../trace/trace.js";
import { asItIs } from "../../trace/translated.js";
import { COMMANDS } from "../command-table.js";
import { addGlobalOptions, commandWord, handDown, isOnlyGlobal, optionsOf } from "./global-options.js";
import { helpIn, helpSentences, inHelp, usageSentences } from "./help-language.js";
import type { OutputOptions } from "./options.js";
import type { CliSession } from "./session.js";
import { columnsOf } from "./width.js";

/** The least width of a help's descriptions; with less, commander does not wrap. */
const MIN_WIDTH_TO_WRAP = 20;

/** After the list of commands. */
const START = ["Start here: kubelab learn", "The flags of a command: kubelab COMMAND --help"];

/** Loads only the command that the line names; the others are only listed. */
export async function buildProgram(argv: readonly string[], version: string, session: CliSession): Promise<Command> {
  const { stdout, stderr } = session.streams;
  const help = {
    helpWidth: Math.min(columnsOf(stdout), 100),
    minWidthToWrap: MIN_WIDTH_TO_WRAP,
    commandDescription,
    // commander has not read the flags yet.
    styleTitle: argv.includes("--no-color") ? asItIs : (title: string) => session.chalk("stdout").bold(title),
  };
  const say = await helpSentences(argv, session, isOnlyGlobal(argv) || undefined);
  const wanted = commandWord(argv);
  const sayUsage = await usageSentences(argv, session, wanted === "learn");
  const { red, dim } = session.chalk("stderr");
  // As other errors: a red word and a dim hint. A help without a command is neither.
  const painted = (text: string) => {
    const [said, word] = [sayUsage(text), sayUsage("error:")];
    if (said.startsWith(word)) return red(word) + said.slice(word.length);
    return /^.*--help.*\n$/.test(text) ? `${dim(said.trimEnd())}\n` : said;
  };
  const program = new NamingCommand("kubelab")
    .description("A kubelet you can read: runs each chapter of how a node joins a cluster and prints every step.")
    .version(version)
    .exitOverride()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(painted(text)) })
    .configureHelp(say === undefined ? help : helpIn(say, help))
    .addHelpText("after", ({ command }) => ["", ...START.map((line) => inHelp(command, line))].join("\n"))
    .showHelpAfterError("Add --help for the flags.")
    .hook("preAction", (_program, action) => {
      handDown(program, action);
      const output = optionsOf<OutputOptions>(program, action);
      session.useOutput(output);
      const { duration } = action.opts<{ readonly duration?: number }>();
      if (duration !== undefined) session.limitStart(duration);
      // Facts outside the chapter, such as opening the target, also belong to the user's command.
      if (keepsCauses(output)) enterScope({ origin: "command" });
      return session.load();
    });
  addGlobalOptions(program);
  for (const entry of COMMANDS) {
    const command = program.command(entry.name).summary(entry.summary).helpGroup(entry.group);
    if (entry.name !== wanted) continue;
    (await entry.load())(command, session);
    acceptVersion(command, version);
  }
  // The program's own flags come before the command, and are not suggested to it. Last, because commands inherit this.
  return program.enablePositionalOptions();
}

/** A command that names the words it cannot use, and the subcommand they are like. Differs: commander only counts them. */
class NamingCommand extends Command {
  /** commander's own, which its types leave out. */
  declare readonly unknownCommand: () => never;

  override createCommand(name?: string): Command {
    return new NamingCommand(name);
  }

  override error(message: string, options?: ErrorOptions): never {
    if (options?.code !== "commander.excessArguments") return super.error(message, options);
    const words = this.args.slice(this.registeredArguments.length);
    if (this.commands.length > 0 && this.registeredArguments.length === 0) return this.unknownCommand();
    const [what = message] = message.split(". Expected ");
    return super.error(`${what}: ${words.join(" ")}`, options);
  }
}

/** `kubelab lease --version` prints the same as `kubelab --version`. Only the program's help lists the flag. */
function acceptVersion(command: Command, version: string): void {
  command.version(version);
  command.options.at(-1)?.hideHelp();
  for (const inner of command.commands) acceptVersion(inner, version);
}

function keepsCauses({ trace, ui, verbosity = 0 }: OutputOptions): boolean {
  return trace !== undefined || ui !== undefined || verbosity >= CAUSES_LEVEL;
}

/** A list of commands has phrases; the help of one has a sentence. */
function commandDescription(command: Command): string {
  const text = command.description();
  return text === "" || text.endsWith(".") ? text : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
