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

/** Its flags are those of `learn` as well, or come before it. */
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

  /** The parent command, which translates commander's own messages. */
  root(command: Command, key: MessageKey, ...examples: readonly string[]): void {
    command
      .configureHelp({
        ...command.configureHelp(),
        showGlobalOptions: true,
        visibleGlobalOptions: globalOptionsOf,
        styleTitle: (title) => this.#title(title),
      })
      .configureOutput({ outputError: (text, write) => write(usageInWords(text, this.say)) })
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

/** What commander says of a command line that it cannot take, and the catalogue's sentence with the parts of it. */
const SENTENCES: readonly (readonly [pattern: RegExp, key: MessageKey, names: readonly string[]])[] = [
  [/^error: unknown command '(.+)'/, "usageUnknownCommand", ["what"]],
  [/^error: unknown option '(.+)'/, "usageUnknownOption", ["what"]],
  [/^error: missing required argument '(.+)'/, "usageMissingArgument", ["what"]],
  [/^error: option '(.+)' argument missing/, "usageMissingValue", ["what"]],
  [/^error: too many arguments.*Expected (\d+) arguments? but got (\d+)/, "usageTooMany", ["what", "found"]],
  [/^error: option '([^']+)' argument '(.*)' is invalid\. ?(.*)/, "usageBadValue", ["what", "found", "why"]],
];
const NEAREST = /\(Did you mean (?:one of )?([^()]+)\?\)/;

/** The same in the learner's language; a sentence that is not known stays as it is. */
export function usageInWords(text: string, say: Say): string {
  for (const [pattern, key, names] of SENTENCES) {
    const match = pattern.exec(text);
    if (match === null) continue;
    const values = Object.fromEntries(names.map((name, i) => [name, match[i + 1] ?? ""]));
    const nearest = NEAREST.exec(text)?.[1];
    return `${[say(key, values), ...(nearest === undefined ? [] : [say("usageNearest", { what: nearest })])].join("\n")}\n`;
  }
  return text;
}
