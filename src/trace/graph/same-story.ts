import type { TraceEvent } from "../events.js";

/** What differs between two simulations of one seed: secrets, ports, folders, and the order of writes at one instant. */
const OF_ONE_RUN: readonly (readonly [RegExp, string])[] = [
  [/(bootstrap-token-|system:bootstrap:|bootstrap token )[a-z0-9]{6}\b/g, "$1ID"],
  [/\b[a-z0-9]{6}\.\*{4}/g, "TOKEN"],
  [/node-csr-[\w-]{43}/g, "CSR"],
  [/(127\.0\.0\.1|localhost|\[::1\]):\d+/g, "$1:PORT"],
  [/\/[^\s"]{0,500}?kubelab-[\w-]+/g, "FOLDER"],
  [/(resourceVersion[= ]|[rR]evision (?:is )?)\d+/g, "$1N"],
  [/\b\d+ bytes\b/g, "N bytes"],
  [/(audit ID )[0-9a-f-]{36}/g, "$1ID"],
  [/\b[0-9a-f]{40,64}\b/g, "HASH"],
];

/** The uid of an object follows from its name, and these names from keys. */
const NAMED_BY_SECRETS = /CSR|bootstrap-token-ID/;
const UID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

/** Fields that say nothing about what happened. */
const LEFT_OUT = new Set(
  "seq id atMs causedBy origin peer level auditId server endpoint version requestBody responseBody format run".split(
    " ",
  ),
);

/** A fact of a simulation as it is compared. */
export interface StoryLine {
  readonly event: TraceEvent;
  readonly text: string;
}

/** The facts of each part of a run, by actor and instance. Those of one instant are in the order of their texts. */
export type Story = ReadonlyMap<string, readonly StoryLine[]>;

export function storyOf(events: Iterable<TraceEvent>): Story {
  const story = new Map<string, StoryLine[]>();
  for (const event of events) {
    const of = [event.actor, event.instance ?? ""].join(" ").trimEnd();
    const line = { event, text: textOf(event) };
    const known = story.get(of);
    if (known === undefined) story.set(of, [line]);
    else known.push(line);
  }
  for (const lines of story.values()) lines.sort(inOrder);
  return story;
}

/** A fact without what belongs to one run alone. */
function textOf(event: TraceEvent): string {
  const text = JSON.stringify(event, (field, value) => (LEFT_OUT.has(field) ? undefined : value));
  const normal = OF_ONE_RUN.reduce((before, [pattern, name]) => before.replace(pattern, name), text);
  return NAMED_BY_SECRETS.test(normal) ? normal.replace(UID, "UID") : normal;
}

function inOrder(a: StoryLine, b: StoryLine): number {
  return a.event.atMs - b.event.atMs || (a.text < b.text ? -1 : Number(a.text > b.text));
}

/** Where two runs part: what one part of the cluster did in each. */
export interface Difference {
  /** `kubelet node-1` */
  readonly of: string;
  readonly atMs: number;
  /** undefined: nothing more */
  readonly a: TraceEvent | undefined;
  readonly b: TraceEvent | undefined;
}

/** @param untilMs facts before this time are compared; default: all @returns undefined for the same story */
export function firstDifference(a: Story, b: Story, untilMs = Number.POSITIVE_INFINITY): Difference | undefined {
  let first: Difference | undefined;
  for (const of of new Set([...a.keys(), ...b.keys()])) {
    const [linesA, linesB] = [a.get(of) ?? [], b.get(of) ?? []];
    const length = Math.max(linesA.length, linesB.length);
    for (let i = 0; i < length; i++) {
      const [one, other] = [linesA[i], linesB[i]];
      if (one !== undefined && other !== undefined && inOrder(one, other) === 0) continue;
      const atMs = Math.min(...[one, other].flatMap((line) => line?.event.atMs ?? []));
      if (atMs < Math.min(untilMs, first?.atMs ?? untilMs)) first = { of, atMs, a: one?.event, b: other?.event };
      break;
    }
  }
  return first;
}

/** The facts from a time on that only one of two runs has, in the order of their times. */
export function partedFacts(a: Story, b: Story, fromMs: number): Readonly<Record<"a" | "b", readonly TraceEvent[]>> {
  return { a: missingIn(b, a, fromMs), b: missingIn(a, b, fromMs) };
}

function missingIn(other: Story, story: Story, fromMs: number): readonly TraceEvent[] {
  const missing: TraceEvent[] = [];
  for (const [of, lines] of story) {
    const counts = new Map<string, number>();
    const keyOf = ({ event, text }: StoryLine) => `${event.atMs} ${text}`;
    for (const line of other.get(of) ?? []) counts.set(keyOf(line), (counts.get(keyOf(line)) ?? 0) + 1);
    for (const line of lines) {
      const left = counts.get(keyOf(line)) ?? 0;
      if (left > 0) counts.set(keyOf(line), left - 1);
      else if (line.event.atMs >= fromMs) missing.push(line.event);
    }
  }
  return missing.sort((one, two) => one.atMs - two.atMs);
}
