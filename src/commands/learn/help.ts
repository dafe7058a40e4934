import { Argument, type Command, Option } from "commander";
import type { MessageKey, Say } from "../../labs/catalogue.js";

/** The help texts of `kubelab learn`: in the language of the environment until `--lang` is read, then in that one. */
export class LearnHelp {
  readonly #texts: ((say: Say) => void)[] = [];

  constructor(public say: Say) {}

  command(command: Command, key: MessageKey): Command {
    this.#add((say) => command.description(say(key)));
    return command;
  }

  option(command: Command, flags: string, key: MessageKey, parser?: (text: string) => unknown): void {
    const option = new Option(flags);
    if (parser !== undefined) option.argParser(parser);
    this.#add((say) => {
      option.description = say(key);
    });
    command.addOption(option);
  }

  /** @param key undefined: its name says enough */
  argument(command: Command, name: string, key?: MessageKey): void {
    const argument = new Argument(name);
    this.#add((say) => {
      argument.description = key === undefined ? "" : say(key);
    });
    command.addArgument(argument);
  }

  /** Says all of it in another language. */
  speak(say: Say): void {
    this.say = say;
    for (const text of this.#texts) text(say);
  }

  #add(text: (say: Say) => void): void {
    this.#texts.push(text);
    text(this.say);
  }
}
