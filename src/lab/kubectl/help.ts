import type { Say } from "../../util/i18n/catalogue.js";
import { type Flag, flagsOf, GLOBAL_FLAGS } from "./flag-notation.js";
import { FLAG_TEXTS } from "./flag-texts.js";
import { longestVerb, verbAt } from "./flags.js";
import { isGroup, subcommandsOf, unknownVerb } from "./unknown-words.js";
import { VERBS } from "./verbs.js";

const KNOWN: readonly string[] = Object.keys(VERBS);

/**
 * The requested help: of kubectl, of a verb, or of a group such as `set`.
 * @returns undefined if the line requests no help, or that of an unknown verb, which its parser reports
 * @throws LabError as `unknownVerb`, for `help VERB`
 */
export function helpOf(argv: readonly string[], say: Say): string | undefined {
  const dashes = argv.indexOf("--");
  const line = dashes < 0 ? argv : argv.slice(0, dashes);
  const words = line.slice(verbAt(line)).filter((word) => !isHelpFlag(word));
  const [first, ...others] = words;
  if (first === undefined) return overview(say);
  if (first === "help") {
    const found = about(others, say);
    if (found === undefined) throw unknownVerb(others, KNOWN);
    return found;
  }
  return line.some(isHelpFlag) ? about(words, say) : undefined;
}

const isHelpFlag = (word: string): boolean => ["--help", "-h", "--help=true"].includes(word);

function about(words: readonly string[], say: Say): string | undefined {
  if (words.length === 0) return overview(say);
  const verb = longestVerb(words, KNOWN);
  const group = [2, 1].map((count) => words.slice(0, count).join(" ")).find((name) => isGroup(name, KNOWN));
  if (verb !== undefined && (group === undefined || verb.length >= group.length)) return verbHelp(verb, say);
  return group === undefined ? undefined : paragraphs([listOf(group, say), forMore(`${group} `, say)]);
}

function overview(say: Say): string {
  return paragraphs([say("kubectlHelpAbout"), listOf("", say), forMore("", say)]);
}

function forMore(group: string, say: Say): string {
  return say("kubectlHelpMore", { line: `kubectl ${group}VERB --help` });
}

/** The verbs of a group, each with its summary; of "", all of them. */
function listOf(group: string, say: Say): string {
  const verbs = KNOWN.filter((verb) => group === "" || verb.startsWith(`${group} `));
  return section(
    say("kubectlHelpVerbs"),
    verbs.map((verb) => [verb, VERBS[verb]?.about ?? ""]),
  );
}

function verbHelp(verb: string, say: Say): string {
  const { about = "", args = "", flags = "" } = VERBS[verb] ?? {};
  const subcommands = subcommandsOf(verb, KNOWN);
  // Flags after `--` belong to the command.
  const [own = "", ...command] = args.split(/(?= \[?-- )/);
  const place = say("kubectlHelpFlagsPlace");
  const usage = ["kubectl", verb, own, place].filter((word) => word !== "").join(" ") + command.join("");
  return paragraphs([
    `${about}.`,
    `${say("kubectlHelpUsage")}\n  ${usage}`,
    ...(subcommands.length === 0 ? [] : [listOf(verb, say)]),
    ...(flags === "" ? [] : [section(say("kubectlHelpFlags"), flagsOf(flags).map(flagRow))]),
    section(say("kubectlHelpGlobal"), flagsOf(GLOBAL_FLAGS).map(flagRow)),
  ]);
}

/** `-o, --output=VALUE`, with its help. */
function flagRow({ name, short, takesValue, implied }: Flag): readonly [string, string] {
  const value = takesValue ? "=VALUE" : implied === "true" ? "" : `[=${implied}]`;
  const long = name === short ? "" : `--${name}${value}`;
  const shown = short === undefined ? `    ${long}` : `-${short}${long === "" ? value.replace("=", " ") : `, ${long}`}`;
  return [shown, FLAG_TEXTS[name] ?? ""];
}

/** A title, and rows of two columns. */
function section(title: string, rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return [title, ...rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd())].join("\n");
}

function paragraphs(texts: readonly string[]): string {
  return `${texts.join("\n\n")}\n`;
}
