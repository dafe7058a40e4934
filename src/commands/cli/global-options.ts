import type { Command } from "commander";
import { LANGUAGES, type Language } from "../../util/i18n/language.js";
import { languageOption } from "./options.js";

interface GlobalOptions {
  readonly lang?: Language;
  /** commander's form of --no-color */
  readonly color: boolean;
}

const WITH_VALUE = "--lang";

/** Adds the flags that also work before the command: `kubelab --lang zh learn`. */
export function addGlobalOptions(program: Command): void {
  program.addOption(languageOption("of the command")).option("--no-color", "plain text (also: NO_COLOR)");
}

/** The first word of a line that is neither a flag of the program nor its value: the command. Pure. */
export function commandWord(argv: readonly string[]): string | undefined {
  const at = argv.findIndex((word, i) => !word.startsWith("-") && argv[i - 1] !== WITH_VALUE);
  const word = argv[at];
  // `kubelab help lease` loads lease.
  return word === "help" ? argv.slice(at + 1).find((one) => !one.startsWith("-")) : word;
}

/** Whether a line has nothing but flags that all commands have. Pure. */
export function isOnlyGlobal(argv: readonly string[]): boolean {
  return argv.every(
    (word, i) =>
      ["--no-color", WITH_VALUE, ...LANGUAGES.map((one) => `${WITH_VALUE}=${one}`)].includes(word) ||
      (argv[i - 1] === WITH_VALUE && LANGUAGES.some((one) => one === word)),
  );
}

/** Passes the flags before the command to it and its parents, unless the flag is repeated after it. */
export function handDown(program: Command, action: Command): void {
  const { lang, color } = program.opts<GlobalOptions>();
  const given = { ...(lang === undefined ? {} : { lang }), ...(color ? {} : { color }) };
  for (const command of between(program, action)) {
    for (const [name, value] of Object.entries(given)) {
      const isKnown = command.options.some((option) => option.attributeName() === name);
      if (isKnown && command.getOptionValueSource(name) !== "cli") command.setOptionValueWithSource(name, value, "cli");
    }
  }
}

/** The flags of a command with the inherited ones; the nearest one counts. */
export function optionsOf<T>(program: Command, action: Command): T {
  return Object.assign({}, program.opts(), ...between(program, action).map((command) => command.opts())) as T;
}

/** The commands below the program down to `action`. */
function between(program: Command, action: Command): Command[] {
  const found: Command[] = [];
  for (let command: Command | null = action; command !== null && command !== program; command = command.parent) {
    found.unshift(command);
  }
  return found;
}
