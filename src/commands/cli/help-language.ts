import { type Command, Help, type HelpConfiguration } from "commander";
import { wrap } from "../../trace/terminal/text.js";
import { asItIs } from "../../trace/translated.js";
import { LANGUAGES, type Language, languageOf } from "../../util/i18n/language.js";
import { type Say, Sentences } from "../../util/i18n/sentences.js";
import { textWidth } from "../../util/text/text-width.js";
import type { CliSession } from "./session.js";

/**
 * The sentences of helps in the language of --lang, at any position of the line, or else of the terminal.
 * @returns undefined for English, and for a line that prints no help
 */
export async function helpSentences(
  argv: readonly string[],
  { streams, env }: Pick<CliSession, "streams" | "env">,
  isHelp = argv.some((word) => /^(?:help|-h|--help)$/.test(word)),
): Promise<Say | undefined> {
  const own = streams.stdout.isTTY === true ? languageOf(env) : "en";
  if (!isHelp || (languageIn(argv) ?? own) === "en") return undefined;
  const { default: catalogue } = await import("../../util/i18n/sentences/help.zh.json", { with: { type: "json" } });
  const texts = new Map(Object.entries(catalogue));
  return (text) => texts.get(text) ?? text;
}

/**
 * Translates commander's messages on stderr about an invalid line, to the language of --lang, or else of the terminal.
 * @param isLearn `learn` uses the environment's language even in a pipe
 */
export async function usageSentences(
  argv: readonly string[],
  { streams, env }: Pick<CliSession, "streams" | "env">,
  isLearn: boolean,
): Promise<Say> {
  const own = isLearn || streams.stderr.isTTY === true ? languageOf(env) : "en";
  if ((languageIn(argv) ?? own) === "en") return asItIs;
  const { default: usage } = await import("../../util/i18n/sentences/usage.zh.json", { with: { type: "json" } });
  const { default: errors } = await import("../../util/i18n/sentences/errors.zh.json", { with: { type: "json" } });
  return new Sentences({ ...errors, ...usage }).say;
}

/** commander reads --lang only after it has printed the help. */
function languageIn(argv: readonly string[]): Language | undefined {
  const end = argv.indexOf("--");
  const words = end === -1 ? argv : argv.slice(0, end);
  const value = words.map((word, i) => (words[i - 1] === "--lang" ? word : /^--lang=(.*)$/.exec(word)?.[1]));
  return LANGUAGES.find((language) => language === value.findLast((one) => one !== undefined));
}

/** How commander shows the texts of a help in another language. English stays where the texts are written. */
export function helpIn(say: Say, of: HelpConfiguration): HelpConfiguration {
  const plain = Object.assign(new Help(), of);
  // commander adds the choices and the default: `(choices: "a", "b", default: "a")`.
  const translated = (text: string, own: string) =>
    say(own) + text.slice(own.length).replace(/choices: |default: /g, (word) => say(word));
  return {
    ...of,
    styleTitle: (title) => plain.styleTitle(say(title)),
    displayWidth: textWidth,
    boxWrap: (text, width) => wrap(text, width).join("\n"),
    commandDescription: (command) => say(plain.commandDescription(command)),
    subcommandDescription: (command) => say(plain.subcommandDescription(command)),
    optionDescription: (option) => translated(plain.optionDescription(option), option.description),
    argumentDescription: (argument) => translated(plain.argumentDescription(argument), argument.description),
  };
}

/** A text around a help, such as a heading, in the language of the help. */
export function inHelp(command: Command, text: string): string {
  return command.createHelp().styleTitle(text);
}
