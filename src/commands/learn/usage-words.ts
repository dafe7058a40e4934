import type { MessageKey, Say } from "../../util/i18n/catalogue.js";

/** commander's usage errors, and the catalogue's sentences for them. */
const SENTENCES: readonly (readonly [pattern: RegExp, key: MessageKey, names: readonly string[]])[] = [
  [/^error: unknown command '(.+)'/, "usageUnknownCommand", ["what"]],
  [/^error: unknown option '(.+)'/, "usageUnknownOption", ["what"]],
  [/^error: missing required argument '(.+)'/, "usageMissingArgument", ["what"]],
  [/^error: option '(.+)' argument missing/, "usageMissingValue", ["what"]],
  [/^error: too many arguments.*Expected (\d+) arguments? but got (\d+)/, "usageTooMany", ["what", "found"]],
  [/^error: option '([^']+)' argument '(.*)' is invalid\. ?(.*)/, "usageBadValue", ["what", "found", "why"]],
];
const NEAREST = /\(Did you mean (?:one of )?([^()]+)\?\)/;

/** The message in the learner's language; an unknown sentence stays English. */
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
