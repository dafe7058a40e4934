import { type Command, InvalidArgumentError } from "commander";
import { describe, expect, test } from "vitest";
import { usageSentences } from "../../../src/commands/cli/help-language.js";
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

/** Upstream's words, and names without a sentence. */
const STAYS_ENGLISH =
  /^(?:time: |invalid CIDR address|failed to parse image reference|a kubelet may not set )|^"[^"]*": (?!expected)/;
const WRONG = ["", "x", "-2", "x y", "=", ",=", "a=b:c,a=b:c", "999999999999", "9999999999999d", "9.9", "A/B"];

describe("commander's errors have their Chinese", async () => {
  const say = await usageSentences(["--lang", "zh"], { env: {}, streams: { stderr: {} } } as never, false);
  for (const { words, command } of await allCommands()) {
    if (words.startsWith("learn")) continue;
    test(words || "kubelab", () => {
      const parsers = [...command.options, ...command.registeredArguments].flatMap(({ parseArg }) => parseArg ?? []);
      const problems = parsers.flatMap((parse) =>
        WRONG.flatMap((text) => problemOf(() => parse(text, undefined)) ?? []),
      );
      const english = problems.filter((text) => !STAYS_ENGLISH.test(text) && !CHINESE.test(say(text)));
      expect([...new Set(english)]).toEqual([]);
    });
  }
});

function problemOf(parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    return error instanceof InvalidArgumentError ? error.message : undefined;
  }
}

const REFUSED = [
  "tokne list",
  "token create --ttll 1h",
  "token create --ttl",
  "token create --ttl 1",
  "token delete",
  "token list x",
  "lease --protocol x",
  "exec web --protocol x -- ls",
  "exec web ls -l",
  "learn strat",
  "learn list --foo",
];
test.each(REFUSED)("--lang zh %s: the whole error is Chinese", async (line) => {
  const { code, stderr } = await runInProcess(["--lang", "zh", ...line.split(" ")]);
  expect(code).toBe(2);
  for (const said of stderr.trim().split("\n")) expect(said).toMatch(CHINESE);
  expect(stderr).not.toMatch(/error:|Did you mean|invalid|expected|Allowed/);
  const { stderr: english } = await runInProcess(line.split(" "));
  expect(english).not.toMatch(CHINESE);
});
