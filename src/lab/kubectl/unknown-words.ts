import { MessageError } from "../../util/i18n/message-error.js";
import { nearest } from "../../util/text/nearest.js";
import { type Flag, flagsOf } from "./flag-notation.js";
import { LACKING_FLAGS, LACKING_GLOBAL_FLAGS, LACKING_VERBS } from "./lacking.js";
import { lineError, unknown } from "./line-error.js";

/** Shorter words resemble everything. */
const MIN_LENGTH = 3;

/**
 * The error for a line without a known verb: an incomplete group, a verb that the built-in kubectl lacks, or a typo.
 * Mirrors legacyArgs in cobra's args.go, and DefaultSubCommandRun of kubectl.
 * @param words from the verb on; @param verbs the known ones
 */
export function unknownVerb(words: readonly string[], verbs: readonly string[]): MessageError {
  const group: string[] = [];
  for (const word of words) {
    if (!isGroup([...group, word].join(" "), verbs)) break;
    group.push(word);
  }
  const next = words[group.length];
  const name = group.join(" ");
  const known = subcommandsOf(name, verbs);
  if (next === undefined || next.startsWith("-")) {
    return lineError(name, ["kubectlNeedsSubcommand", { verb: name, known: known.join(", ") }]);
  }
  if (LACKING_VERBS.includes([...group, next].join(" "))) return unknown([...group, next].join(" "));
  const end = words.findIndex((word) => word.startsWith("-"));
  const args = words.slice(group.length, end < 0 ? undefined : end);
  const text = verbs.includes(name) ? `Unexpected args: [${args.join(" ")}]` : unknownCommand(name, next);
  return withNearest(name, text, [...known, ...subcommandsOf(name, LACKING_VERBS)], next);
}

function unknownCommand(group: string, word: string): string {
  return `unknown command "${word}"${group === "" ? ' for "kubectl"' : ""}`;
}

/**
 * The error for a flag that a verb of the built-in kubectl does not have.
 * @param name as written: `--sort-by`, `-z`; @param word the whole word: `-zx`
 */
export function unknownFlag(verb: string, name: string, word: string, known: readonly Flag[]): MessageError {
  const lacking = flagsOf(`${LACKING_FLAGS[verb] ?? ""} ${LACKING_GLOBAL_FLAGS}`);
  if (lacking.some((flag) => [`--${flag.name}`, `-${flag.short}`].includes(name))) {
    const names = known.map(shownFlag).join(" ");
    return new MessageError(
      "USAGE",
      ["kubectlUnknownFlag", { verb, what: name, known: names }],
      ["kubectlUnknownHint"],
    );
  }
  if (!name.startsWith("--")) return lineError(verb, `unknown shorthand flag: '${name.slice(1, 2)}' in ${word}`);
  const names = [...known, ...lacking].map((flag) => `--${flag.name}`);
  return withNearest(verb, `unknown flag: ${name}`, names, name);
}

/** `-o/--output`; `-v` for a flag without a long name. */
function shownFlag({ name, short }: Flag): string {
  return short === undefined ? `--${name}` : name === short ? `-${short}` : `-${short}/--${name}`;
}

/** An error with the most similar word as its hint. @param verb whose `--help` is the hint if there is none */
function withNearest(verb: string, text: string, names: readonly string[], word: string): MessageError {
  const like = similar(names, word);
  return like === undefined ? lineError(verb, text) : lineError(verb, text, ["kubectlDidYouMean", { nearest: like }]);
}

/** The name that was probably meant; undefined if no name is similar. */
export function similar(names: readonly string[], word: string): string | undefined {
  return word.length < MIN_LENGTH ? undefined : nearest(names, word);
}

/** Whether verbs begin with these words. */
export function isGroup(words: string, verbs: readonly string[]): boolean {
  return verbs.some((verb) => verb.startsWith(`${words} `));
}

/** The words that can follow a group's, each once; of "", all first words. */
export function subcommandsOf(group: string, verbs: readonly string[]): readonly string[] {
  const prefix = group === "" ? "" : `${group} `;
  const found = verbs.filter((verb) => verb.startsWith(prefix)).map((verb) => verb.slice(prefix.length).split(" ")[0]);
  return [...new Set(found)].filter((word): word is string => word !== undefined && word !== "");
}
