import { readFileSync } from "node:fs";

interface Fact {
  readonly kind: string;
  readonly actor: string;
  readonly instance?: string;
  readonly [field: string]: unknown;
}

/**
 * The story that a trace tells: by actor and object, the reasons of its events and the phases of pods, in their order. Times and the
 * rest of the facts are left out: work in threads can move them by a moment on a busy machine.
 * @param path of an NDJSON trace
 */
export function storyOf(path: string): ReadonlyMap<string, readonly string[]> {
  const stories = new Map<string, string[]>();
  for (const line of readFileSync(path, "utf8").split("\n")) {
    if (!line.startsWith('{"') || !line.includes('"atMs"')) continue;
    const fact = JSON.parse(line) as Fact;
    const [about, said] = milestoneOf(fact);
    if (said === undefined) continue;
    const key = [fact.actor, fact.instance ?? "", about].join(" ");
    stories.set(key, [...(stories.get(key) ?? []), said]);
  }
  return stories;
}

function milestoneOf(fact: Fact): readonly [about: string, said: string | undefined] {
  if (fact.kind === "event") return [String(fact["object"]), String(fact["reason"])];
  const isPhase = fact.kind === "state" && fact["what"] === "phase";
  return [String(fact["subject"]), isPhase ? String(fact["to"]) : undefined];
}
