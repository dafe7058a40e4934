import { expect, test } from "vitest";
import { allCommands } from "../../support/all-commands.js";

/** What a help shows as the default of a flag, as it is typed. Several words are a description. */
function shownDefault(description: string): string | undefined {
  const value = /\bdefault: ("?)([^ "),;]+)\1(?:\)|,|;)/.exec(description)?.[2];
  return value === undefined || WORDS.has(value) ? undefined : value;
}

/** Words that describe a default. */
const WORDS = new Set(["memory", "embedded", "self-signed", "all", "both", "true"]);

const rows = (await allCommands()).flatMap(({ words, command }) =>
  command.options.flatMap((option) => {
    const shown = shownDefault(command.createHelp().optionDescription(option));
    return shown === undefined ? [] : [{ line: `${words} ${option.long} ${shown}`, option, shown }];
  }),
);

test("the table has the defaults of all commands", () => {
  expect(rows.length).toBeGreaterThan(60);
  expect(rows.map(({ line }) => line)).toContain("journey --timeout 60s");
});

test.each(rows)("$line: the default that the help shows is accepted", ({ option, shown }) => {
  expect(() => option.parseArg?.(shown, option.defaultValue)).not.toThrow();
  if (option.argChoices !== undefined) expect(option.argChoices).toContain(shown);
});
