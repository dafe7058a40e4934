import { LabError } from "../../util/errors.js";
import { nearest } from "../../util/text/nearest.js";
import type { Topic } from "./topic.js";

/** The least length of a name inside a message: shorter ones such as `exec` or `Job` occur in many messages. */
const SHORTEST_IN_MESSAGE = 5;
/** A single word does not find a name with more words than this: `seen` occurs in "pleg was last seen active". */
const MOST_WORDS_OF_NAME = 2;
/** Reasons that are ordinary words: a message has such a reason only where it is a value. */
const ORDINARY = new Set(
  "Approved Available Complete Completed Conflict Created Denied Error Expired Failed Healthy Invalid Killing Progressing Pulled Pulling Ready Resumed Scheduled Started Starting Suspended Terminated".split(
    " ",
  ),
);
const MOST_SHOWN = 12;
const HINT = "List them: kubelab explain";

/**
 * The topic of a word, of the beginning of one, of a part of a message, or of a message that quotes one. A whole
 * phrase wins over a word in it. Capitals matter only for a reason that is an ordinary word in a message. Pure.
 * @throws LabError USAGE if there is none, with the most similar one, or if several begin so
 */
export function findTopic(topics: readonly Topic[], asked: string): Topic {
  const wanted = plain(asked);
  const rows = topics.flatMap((topic) => [topic.name, ...(topic.also ?? [])].map((name) => ({ topic, name })));
  const found =
    rows.find(({ name }) => plain(name) === wanted) ??
    only(
      asked,
      rows.filter(({ name }) => begins(plain(name), wanted)),
    ) ??
    (wanted.includes(" ") ? longest(rows.filter(({ name }) => hasWords(plain(name), wanted))) : undefined) ??
    longest(rows.filter(({ name }) => isQuoted(name, asked))) ??
    only(
      asked,
      rows.filter(({ name }) => isPartOf(plain(name), wanted)),
    );
  if (found !== undefined) return found.topic;
  const names = rows.map(({ name }) => name);
  // A number is never similar: a near number has another meaning.
  const like = /^\d/.test(wanted) ? undefined : nearest(names, asked);
  const shown = `there is no topic ${JSON.stringify(asked)}`;
  throw new LabError("USAGE", like === undefined ? shown : `${shown}: did you mean ${like}?`, HINT);
}

interface Row {
  readonly topic: Topic;
  readonly name: string;
}

/** @throws LabError USAGE for rows of several topics */
function only(asked: string, rows: readonly Row[]): Row | undefined {
  const names = [...new Set(rows.map(({ topic }) => topic.name))];
  if (names.length < 2) return rows[0];
  const more = names.length > MOST_SHOWN ? ", ..." : "";
  const list = `${names.slice(0, MOST_SHOWN).join(", ")}${more}`;
  throw new LabError("USAGE", `${JSON.stringify(asked)} is the beginning of several topics: ${list}`, HINT);
}

function longest(rows: readonly Row[]): Row | undefined {
  return [...rows].sort((a, b) => b.name.length - a.name.length)[0];
}

/** Whether a name begins with the text. For a sentence, the words must be whole: `attempt` is not "Attempting to reclaim". */
function begins(name: string, wanted: string): boolean {
  return wanted !== "" && name.startsWith(wanted) && (!name.includes(" ") || hasWords(name, wanted));
}

/** Whether a message has the name. */
function isQuoted(name: string, message: string): boolean {
  if (ORDINARY.has(name))
    return new RegExp(`(?:(?:^|[:=(])\\s*|(?<!\\s)\\s{2,})${name}(?:$|[),:]|\\s{2})`).test(message);
  return name.length >= SHORTEST_IN_MESSAGE && hasWords(plain(message), plain(name));
}

/** Whether a name has the text: anywhere in one word, as whole words in a short name. */
function isPartOf(name: string, wanted: string): boolean {
  if (wanted.length <= 2) return false;
  const words = name.split(" ").length;
  return words === 1 ? name.includes(wanted) : words <= MOST_WORDS_OF_NAME && hasWords(name, wanted);
}

/** Whether a text contains another one that is not inside a word. */
function hasWords(text: string, wanted: string): boolean {
  const around = ` ${text} `;
  for (let at = around.indexOf(wanted); at > 0; at = around.indexOf(wanted, at + 1)) {
    if (!/[a-z0-9]/.test(around[at - 1] ?? " ") && !/[a-z0-9]/.test(around[at + wanted.length] ?? " ")) return true;
  }
  return false;
}

/** A hyphen counts as a space (`static-pod`), `40 s` is `40s`, and `API server` is one word as in `kube-apiserver`. */
function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/[\s-]+/g, " ")
    .replace(/(\d) (s|ms|m|min|h)\b/g, "$1$2")
    .replace(/\bapi server\b/g, "apiserver")
    .trim();
}
