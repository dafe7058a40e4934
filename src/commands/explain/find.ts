import { LabError } from "../../util/errors.js";
import { editDistance, nearest } from "../../util/text/nearest.js";
import type { Topic } from "./topic.js";

/** The least length of a name inside a message: shorter ones such as `exec` or `Job` occur in many messages. */
const SHORTEST_IN_MESSAGE = 5;
/** Shorter parts of a Go identifier name no topic: `kl`, `m`, `p`. */
const SHORTEST_PART = 4;
/** A single word does not find a name with more words than this: `seen` occurs in "pleg was last seen active". */
const MOST_WORDS_OF_NAME = 2;
/** Reasons that are ordinary words: a message has such a reason only where it is a value. */
const ORDINARY = new Set(
  "ADD Approved Available Complete Completed Conflict Created DELETE Denied Error Expired Failed Healthy Invalid Killing Progressing Pulled Pulling REMOVE Ready Recorder Resumed Scheduled SET Started Starting Store Suspended Terminated UPDATE capacity".split(
    " ",
  ),
);
const MOST_SHOWN = 12;
const HINT = "List them: kubelab explain";
/** A line of klog, also as the journal of systemd shows it: `May 21 09:42:28 n1 kubelet[79]: I0521 09:42:28.541023 79 kubelet.go:12] `. */
const LOG_PREFIX = /^(?:\w{3} +\d+ [\d:]+ \S+ kubelet\[\d+\]: )?[IWEF]\d{4} [\d:.]+ +\d+ [\w.-]+:\d+\] /;
/** A word shorter than this has no likely typo: another word is as near. */
const SHORTEST_TYPO = 6;
const LONGEST_TYPO = 40;
const LETTERS_PER_TYPO = 6;

/**
 * The topic of a word, of the beginning of one, of a Go identifier, of a part of a message, or of a message or log line
 * that quotes one. A whole phrase wins over a word in it, and the phrase that begins a log line over any other. A typo
 * finds the topic if only one is that near. Capitals matter only for a reason that is an ordinary word in a message. Pure.
 * @throws LabError USAGE if there is none, with the most similar one, or if several begin so
 */
export function findTopic(topics: readonly Topic[], given: string): Topic {
  const asked = given.replace(LOG_PREFIX, "");
  const wanted = plain(asked);
  const rows = topics.flatMap((topic) => [topic.name, ...(topic.also ?? [])].map((name) => ({ topic, name })));
  const found =
    rows.find(({ name }) => plain(name) === wanted) ??
    ofIdentifier(rows, asked) ??
    longest(rows.filter(({ name }) => isLeadIn(name, asked))) ??
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
  const guess = ofTypo(rows, wanted);
  if (guess !== undefined) return { ...guess.topic, guessedFor: asked };
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

/** `kl.statusManager.Start()` and `podWorkers` name what `status manager` and `pod worker` do; the last part counts first. */
function ofIdentifier(rows: readonly Row[], asked: string): Row | undefined {
  const parts = /^[\w*&]+(?:[.-][\w]+)*(?:\(.*\))?$/.test(asked) ? asked.replace(/\(.*/, "").split(".").reverse() : [];
  const named = rows.filter(({ name }) => !ORDINARY.has(name) || parts.includes(name));
  for (const part of parts.filter(({ length }) => length >= SHORTEST_PART)) {
    const found =
      named.find(({ name }) => plain(name) === plain(part)) ??
      named.find(({ name }) => compact(name) === compact(part));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Letters and digits alone, in the singular. */
function compact(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "")
    .replace(/s$/, "");
}

/** Whether a phrase begins the message: `"SyncLoop ADD" source="api"`. */
function isLeadIn(name: string, message: string): boolean {
  return /[a-z]{3} \S/i.test(name) && plain(message.replace(/^"/, "")).startsWith(plain(name));
}

/** The row that differs from the word by a few letters, or that begins so, if all such rows are of one topic. */
function ofTypo(rows: readonly Row[], wanted: string): Row | undefined {
  const { length } = wanted;
  const mostEdits = Math.floor(length / LETTERS_PER_TYPO);
  // A number is never similar.
  if (length < SHORTEST_TYPO || length > LONGEST_TYPO || /^\d/.test(wanted)) return undefined;
  const distanceTo = (name: string) =>
    Math.min(...[length - 1, length, length + 1].map((end) => editDistance(name.slice(0, end), wanted)));
  const ranked = rows.map((row) => ({ row, distance: distanceTo(plain(row.name)) }));
  const least = Math.min(mostEdits, ...ranked.map(({ distance }) => distance));
  const near = ranked.filter(({ distance }) => distance === least);
  return new Set(near.map(({ row }) => row.topic)).size === 1 ? near[0]?.row : undefined;
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
  const [text, words] = name.startsWith("-") ? [message, name] : [plain(message), plain(name)];
  return name.length >= SHORTEST_IN_MESSAGE && hasWords(text, words);
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
