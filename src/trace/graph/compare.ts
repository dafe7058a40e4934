import type { TraceEvent } from "../events.js";
import { startMs, type TraceGraph } from "./graph.js";
import { type RenamedNode, renamedNodes, renamer } from "./node-names.js";
import { normalText } from "./normal-text.js";
import { stepEnds } from "./step-ends.js";

/** A fact of both runs. */
export interface Pair {
  readonly a: TraceEvent;
  readonly b: TraceEvent;
}

export interface FieldDifference extends Pair {
  readonly field: string;
  readonly from: string;
  readonly to: string;
}

export interface TimeDifference extends Pair {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Comparison {
  /** nodes whose names differ between the runs; these names are not reported as differences */
  readonly nodes: readonly RenamedNode[];
  readonly pairs: readonly Pair[];
  readonly onlyA: readonly TraceEvent[];
  readonly onlyB: readonly TraceEvent[];
  /** facts of both runs that their actor reported in another order */
  readonly moved: readonly Pair[];
  readonly fields: readonly FieldDifference[];
  /** requests, calls and steps that took clearly longer or shorter, the largest difference first */
  readonly times: readonly TimeDifference[];
}

/** Smaller differences are normal between two runs of the same command. */
const MIN_DIFFERENCE_MS = 10;
const MIN_FACTOR = 1.5;

/**
 * Aligns two runs by what happened: the same kind of fact, of the same actor, with the same text without generated names. Of facts
 * that happened several times, the first is compared with the first; so is each node that only one of the runs has.
 */
export function compareTraces(a: TraceGraph, b: TraceGraph): Comparison {
  const nodes = renamedNodes(a, b);
  const rename = renamer(nodes);
  const textOfB = (text: string) => normalText(rename(text));
  const waiting = new Map<string, TraceEvent[]>();
  for (const event of b.inOrder()) {
    const key = whatHappened(event, textOfB);
    const list = waiting.get(key);
    if (list === undefined) waiting.set(key, [event]);
    else list.push(event);
  }
  // Taken from the end, because removing from the front of a long list is slow.
  for (const list of waiting.values()) list.reverse();
  const pairs: Pair[] = [];
  const onlyA: TraceEvent[] = [];
  for (const event of a.inOrder()) {
    const other = waiting.get(whatHappened(event, normalText))?.pop();
    if (other === undefined) onlyA.push(event);
    else pairs.push({ a: event, b: other });
  }
  const found = new Set(pairs.map((pair) => pair.b));
  const onlyB = b.inOrder().filter((event) => !found.has(event));
  const fields = pairs.flatMap((pair) => fieldDifferences(pair, textOfB));
  return { nodes, pairs, onlyA, onlyB, moved: movedPairs(pairs, b), fields, times: timeDifferences(pairs, a, b) };
}

function whatHappened(event: TraceEvent, normal: (text: string) => string): string {
  const words = [event.kind, event.actor, ...identifying(event)];
  return words.map((word) => normal(word ?? "")).join("\n");
}

function identifying(event: TraceEvent): readonly (string | undefined)[] {
  switch (event.kind) {
    case "step":
    case "table":
    case "story":
      return [event.title];
    case "request":
      return [event.method, event.path];
    case "rpc":
      return [event.service, event.method, event.pod];
    case "decision":
      return [event.what];
    case "state":
      return [event.subject, event.what];
    case "watch":
      return [event.type, event.resource, event.object];
    case "event":
      return [event.reason, event.object];
    case "note":
      return [event.text];
    case "frame":
      return [event.direction, event.framing, event.type, event.channel];
    case "error":
      return [event.message];
  }
}

/** The details of a fact in addition to its kind and text. */
function reported(event: TraceEvent): Readonly<Record<string, string | number | undefined>> {
  const { instance, pod } = event;
  switch (event.kind) {
    case "request": {
      const { status, outcome, identity, failure } = event;
      return { instance, pod, status, outcome, identity, failure };
    }
    case "rpc":
      return { instance, code: event.code, outcome: event.outcome };
    case "decision": {
      const constants = event.constants?.map(({ name, value }) => `${name} = ${value}`).join(", ");
      const changes = event.changes?.map(({ op, path, value }) => `${op} ${path} ${JSON.stringify(value)}`).join(", ");
      return { instance, pod, why: event.why, constants, changes };
    }
    case "state":
      return { instance, pod, from: event.from, to: event.to };
    case "event":
      return { instance, type: event.type, message: event.message };
    case "table":
      return { instance, rows: event.rows.map((row) => row.join(" ")).join("; ") };
    case "frame":
      return { length: event.length, note: event.note };
    case "error":
      return { instance, hint: event.hint };
    default:
      return { instance, pod };
  }
}

function fieldDifferences({ a, b }: Pair, textOfB: (text: string) => string): FieldDifference[] {
  const [before, after] = [reported(a), reported(b)];
  return Object.keys(before).flatMap((field) => {
    const [from, to] = [String(before[field] ?? "-"), String(after[field] ?? "-")];
    return normalText(from) === textOfB(to) ? [] : [{ a, b, field, from, to }];
  });
}

/** The facts that must move so that each actor's facts have the order of the other run: as few as possible. */
function movedPairs(pairs: readonly Pair[], b: TraceGraph): Pair[] {
  const place = new Map(b.inOrder().map((event, i) => [event, i]));
  const actors = new Map<string, Pair[]>();
  for (const pair of pairs) {
    const of = `${pair.a.actor} ${pair.a.instance ?? ""}`;
    const own = actors.get(of);
    if (own === undefined) actors.set(of, [pair]);
    else own.push(pair);
  }
  return [...actors.values()].flatMap((own) => {
    const stays = longestRise(own.map((pair) => place.get(pair.b) ?? 0));
    return own.filter((_, i) => !stays.has(i));
  });
}

/** The indexes of a longest rising subsequence. */
function longestRise(values: readonly number[]): ReadonlySet<number> {
  /** the index of the smallest value that ends a rise of each length */
  const ends: number[] = [];
  const before: (number | undefined)[] = [];
  for (const [i, value] of values.entries()) {
    let low = 0;
    for (let high = ends.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((values[ends[middle] ?? 0] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    before.push(ends[low - 1]);
    ends[low] = i;
  }
  const rise = new Set<number>();
  for (let at = ends.at(-1); at !== undefined; at = before[at]) rise.add(at);
  return rise;
}

function timeDifferences(pairs: readonly Pair[], a: TraceGraph, b: TraceGraph): TimeDifference[] {
  const [endsA, endsB] = [stepEnds(a), stepEnds(b)];
  return pairs
    .flatMap((pair) => {
      const fromMs = (endsA.get(pair.a) ?? pair.a.atMs) - startMs(pair.a);
      const toMs = (endsB.get(pair.b) ?? pair.b.atMs) - startMs(pair.b);
      const [short, long] = fromMs < toMs ? [fromMs, toMs] : [toMs, fromMs];
      return long - short >= MIN_DIFFERENCE_MS && long >= short * MIN_FACTOR ? [{ ...pair, fromMs, toMs }] : [];
    })
    .sort((one, two) => Math.abs(two.toMs - two.fromMs) - Math.abs(one.toMs - one.fromMs));
}
