import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import help from "../../../src/util/i18n/sentences/help.zh.json" with { type: "json" };
import { textWidth } from "../../../src/util/text/text-width.js";
import { allCommands } from "../../support/all-commands.js";
import { runInProcess } from "../../support/run-cli.js";

const CHINESE = /[\u4e00-\u9fff]/;
const catalogue: Readonly<Record<string, string>> = help;

/** All texts of a command's help, without names and values. `learn` has a catalogue of its own. */
function textsOf(command: Command): readonly string[] {
  const shown = command.createHelp();
  const options = shown.visibleOptions(command);
  return [
    shown.commandDescription(command),
    ...options.map(({ description }) => description),
    ...options.flatMap(({ helpGroupHeading = "" }) => helpGroupHeading),
    ...shown.visibleArguments(command).map(({ description }) => description),
    ...shown.visibleCommands(command).map((one) => shown.subcommandDescription(one)),
    ...command.commands.flatMap((one) => one.helpGroup() || []),
  ].filter((text) => text !== "");
}

describe("the help of every command has its Chinese", async () => {
  for (const { words, command } of await allCommands()) {
    if (words.startsWith("learn")) continue;
    test(words || "kubelab", () => {
      // The help of one command makes a sentence of the phrase that the list of commands has.
      const phrase = (text: string) => `${text.charAt(0).toLowerCase()}${text.slice(1).replace(/\.$/, "")}`;
      const known = (text: string) => catalogue[text] ?? catalogue[phrase(text)];
      expect(textsOf(command).filter((text) => known(text) === undefined)).toEqual([]);
    });
  }
});

test("every text of the catalogue is one of a help", async () => {
  const used = new Set((await allCommands()).flatMap(({ command }) => textsOf(command)));
  const isUsed = (text: string) => used.has(text) || used.has(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`);
  const hidden = (await allCommands()).flatMap(({ command }) => command.options.map(({ description }) => description));
  const around = Object.keys(catalogue).slice(0, Object.keys(catalogue).indexOf("output the version number") + 5);
  const unused = Object.keys(catalogue).filter(
    (text) => !isUsed(text) && !hidden.includes(text) && !around.includes(text),
  );
  expect(unused).toEqual([]);
});

const LINES = [
  ["--help --lang zh", true],
  ["--lang zh bootstrap --help", true],
  ["bootstrap --help --lang=zh", true],
  ["help node --lang zh", true],
  ["token create --help --lang zh", true],
  ["exec serve --help --lang zh", true],
  ["bootstrap --help", false],
  ["bootstrap --help --lang en", false],
  ["exec pod --help -- sh --lang zh", false],
] as const;
test.each(LINES)("%s", async (line, isChinese) => {
  const { code, stdout } = await runInProcess(line.split(" "), { columns: 80 });
  expect(code).toBe(0);
  expect(CHINESE.test(stdout)).toBe(isChinese);
  expect(stdout).toContain(isChinese ? "用法：" : "Usage:");
  if (!isChinese) return;
  expect(stdout.split("\n").filter((one) => textWidth(one) > 80 && CHINESE.test(one))).toEqual([]);
  expect(stdout).not.toMatch(/\b(?:default|choices): |\bOptions:|\bExamples:/);
});
