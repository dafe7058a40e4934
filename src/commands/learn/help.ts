import { Argument, type Command, Help, Option } from "commander";
import type { MessageKey, Say } from "../../util/i18n/catalogue.js";
import { exampleLines } from "../cli/examples.js";

/** The headings of a help, as commander has them. */
const TITLES: Readonly<Record<string, MessageKey>> = {
  "Usage:": "helpUsage",
  "Arguments:": "helpArguments",
  "Options:": "helpOptions",
  "Global Options:": "helpGlobalOptions",
  "Commands:": "helpCommands",
};

/** The flags that only `learn start` accepts. */
const OF_PLAY: readonly (string | undefined)[] = ["--speed", "--seed", "--ui"];

/** The flags of `learn` that a subcommand accepts. */
function globalOptionsOf(command: Command): Option[] {
  const all = Object.assign(new Help(), { showGlobalOptions: true }).visibleGlobalOptions(command);
  const others = command.name() === "start" ? [] : OF_PLAY;
  return all.filter((option) => !programOf(command).options.includes(option) && !others.includes(option.long));
}

/** The program. `learn` has its flags as well, or they come before `learn`. */
function programOf(command: Command): Command {
  return command.parent === null ? command : programOf(command.parent);
}

/** The help texts of `kubelab learn`, in the language of `--lang` once it is read, before that in the environment's. */
export class LearnHelp {
  readonly #texts: ((say: Say) => void)[] = [];

  constructor(public say: Say) {}

  command(command: Command, key: MessageKey): Command {
    this.#add((say) => {
      command.description(say(key)).helpOption("-h, --help", say("helpHelp")).showHelpAfterError(say("helpAfterError"));
    });
    return command;
  }

  /** The parent command. */
  root(command: Command, key: MessageKey, ...examples: readonly string[]): void {
    command
      .configureHelp({
        ...command.configureHelp(),
        showGlobalOptions: true,
        visibleGlobalOptions: globalOptionsOf,
        styleTitle: (title) => this.#title(title),
      })
      .addHelpText("after", () => ["", this.say("helpExamples"), ...exampleLines(command, examples)].join("\n"));
    this.command(command, key);
    this.#add((say) => command.summary(say("helpSummary")).helpCommand("help [command]", say("helpHelp")));
  }

  #title(title: string): string {
    const key = TITLES[title];
    return key === undefined ? title : this.say(key);
  }

  option(command: Command, flags: string, key: MessageKey, parser?: (text: string) => unknown): void {
    const option = new Option(flags);
    if (parser !== undefined) option.argParser(parser);
    this.#add((say) => {
      option.description = say(key);
    });
    command.addOption(option);
  }

  /** @param key undefined: no description */
  argument(command: Command, name: string, key?: MessageKey): void {
    const argument = new Argument(name);
    this.#add((say) => {
      argument.description = key === undefined ? "" : say(key);
    });
    command.addArgument(argument);
  }

  /** Switches all help texts to another language. */
  speak(say: Say): void {
    this.say = say;
    for (const text of this.#texts) text(say);
  }

  #add(text: (say: Say) => void): void {
    this.#texts.push(text);
    text(this.say);
  }
}
