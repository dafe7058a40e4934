import { LabError } from "../../util/errors.js";
import { nearest } from "../../util/nearest.js";
import type { Topic } from "./topic.js";

/** Names that are part of a message count from this length on: `exec` or `Job` occur in many. */
const SHORTEST_IN_MESSAGE = 5;
const MOST_SHOWN = 12;
const HINT = "List them: kubelab explain";

/**
 * The topic of a word, of the beginning of one, or of a message that quotes one. Capitals do not matter. Pure.
 * @throws LabError USAGE for none, with the most similar one, and for the beginning of several
 */
export function findTopic(topics: readonly Topic[], asked: string): Topic {
  const wanted = plain(asked);
  const rows = topics.flatMap((topic) => [topic.name, ...(topic.also ?? [])].map((name) => ({ topic, name })));
  const found =
    rows.find(({ name }) => plain(name) === wanted) ??
    only(
      asked,
      rows.filter(({ name }) => plain(name).startsWith(wanted) && wanted !== ""),
    ) ??
    longest(rows.filter(({ name }) => isQuoted(plain(name), wanted))) ??
    only(
      asked,
      rows.filter(({ name }) => wanted.length > 2 && plain(name).includes(wanted)),
    );
  if (found !== undefined) return found.topic;
  const names = rows.map(({ name }) => name);
  // A number that is nearly another one has another meaning.
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

/** Whether a message has the name, between other characters than letters. */
function isQuoted(name: string, message: string): boolean {
  if (name.length < SHORTEST_IN_MESSAGE) return false;
  const at = ` ${message} `.indexOf(name);
  if (at < 0) return false;
  const around = ` ${message} `;
  return !/[a-z0-9]/.test(around[at - 1] ?? " ") && !/[a-z0-9]/.test(around[at + name.length] ?? " ");
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
