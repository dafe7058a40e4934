import { readFileSync } from "node:fs";

interface Fact {
  readonly atMs: number;
  readonly actor: string;
  readonly instance?: string;
  readonly level: number;
  readonly [field: string]: unknown;
}

/** What the machine or cryptography gives: IDs of facts, durations, and identities that come from keys. */
const LEFT_OUT = ["id", "seq", "causedBy", "auditId", "durationMs", "origin", "chapter", "version", "endpoint"];

/** Ports, folders, keys and tokens: nobody can choose them for a run. */
const MASKS: readonly (readonly [RegExp, string])[] = [
  [/127\.0\.0\.1:\d+/g, "ADDRESS"],
  [/\/tmp\/[^\s",]+/g, "FOLDER"],
  [/node-csr-[\w-]+/g, "CSR"],
  [/bootstrap-token-\w+|system:bootstrap:\w+|bootstrap token \w+|\b[a-z0-9]{6}\.\*{4}/g, "TOKEN"],
  [/audit ID [\w-]+/g, "AUDIT"],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "UID"],
  [/\.1[0-9a-f]{15}\b/g, ".EVENT"],
  // Writes of one instant that do not cause each other get their versions in any order.
  [/((?:resourceVersion|revision|mod_revision|modRevision)(?: is|=|%3D)? ?)\d+/g, "$1N"],
  [/serial number \w+|\d+ bytes/g, "SIZE"],
];

/** `-v 3` and up shows how servers work inside. */
const MOST_LEVEL = 2;

/**
 * The story that a trace tells: each actor's facts up to `-v 2` with their virtual times, from the start of the trace. Facts of one
 * actor in one instant come in the order of their texts.
 * @param path of an NDJSON trace
 */
export function storyOf(path: string): ReadonlyMap<string, readonly string[]> {
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line.startsWith('{"') && line.includes('"atMs"'));
  const facts = lines.map((line) => JSON.parse(line) as Fact);
  const startMs = facts[0]?.atMs ?? 0;
  const stories = new Map<string, string[]>();
  for (const fact of facts.filter(({ level }) => level <= MOST_LEVEL)) {
    const who = [fact.actor, fact.instance].filter((part) => part !== undefined).join(" ");
    const story = stories.get(who) ?? [];
    stories.set(who, story);
    story.push(`${String(fact.atMs - startMs).padStart(9)} ${textOf(fact, startMs)}`);
  }
  for (const story of stories.values()) story.sort();
  return stories;
}

function textOf(fact: Fact, startMs: number): string {
  const kept = Object.entries(fact).filter(
    ([key]) => key !== "atMs" && !LEFT_OUT.includes(key) && !key.endsWith("Body"),
  );
  const text = MASKS.reduce(
    (masked, [from, to]) => masked.replaceAll(from, to),
    JSON.stringify(Object.fromEntries(kept)),
  );
  // Times are told from the start of the run.
  return text.replaceAll(
    /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g,
    (time) => `${(Date.parse(time) - startMs) / 1000} s`,
  );
}
