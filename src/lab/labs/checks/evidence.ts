import type { TraceEvent } from "../../../trace/events.js";
import { startMs, TraceGraph } from "../../../trace/graph/graph.js";
import { isAllowed, isOfKubectl } from "./answers.js";
import { factsOf, type Observation } from "./observation.js";

/** The facts that decided a verdict: those behind the check's observation, and the causes of the last one. */
export interface Evidence {
  readonly facts: readonly TraceEvent[];
  /** when each of them began, in ms after the first */
  readonly afterMs: readonly number[];
  /** for deciding facts: what the check read, such as `status.phase = Running`; null for their causes, because JSON has no undefined */
  readonly shows: readonly (readonly string[] | null)[];
  /** all known facts, some of which are possibly not shown */
  readonly count: number;
}

/** More would hide the verdict. */
const MAX_FACTS = 5;
/** The limit of deciding facts before the last one, so that its causes have room. */
const MAX_OTHERS = 3;

/**
 * The facts behind a check's observation, by the time when they began. Causes of the last one fill the remaining room.
 * @param events the facts of the lab
 * @returns undefined if all of them are unknown
 */
export function evidenceFor(
  observations: readonly Observation[],
  events: readonly TraceEvent[],
  most = MAX_FACTS,
): Evidence | undefined {
  if (observations.length === 0) return undefined;
  const graph = TraceGraph.of(events);
  const shows = new Map<TraceEvent, readonly string[]>();
  for (const observation of observations) {
    const more = "shows" in observation && observation.shows !== undefined ? [observation.shows] : [];
    for (const fact of factsOf(observation, graph))
      shows.set(fact, [...new Set([...(shows.get(fact) ?? []), ...more])]);
  }
  const decided = [...shows.keys()].sort((a, b) => a.atMs - b.atMs);
  const latest = decided.pop();
  if (latest === undefined) return undefined;
  const others = decided.slice(-MAX_OTHERS).map((write) => {
    const decision = decisionBehind(graph, write);
    shows.set(decision, [...new Set([...(shows.get(decision) ?? []), ...(shows.get(write) ?? [])])]);
    return decision;
  });
  return evidenceOf(graph.chainOf(latest), most, [...new Set(others)], shows);
}

/** What a client decided before the API server stored it, or its request: alone, the line of a stored version explains nothing. */
function decisionBehind(graph: TraceGraph, fact: TraceEvent): TraceEvent {
  if (fact.kind !== "state" || fact.actor !== "apiserver") return fact;
  const chain = graph.chainOf(fact);
  const client = chain.findLastIndex(({ actor }) => actor !== "apiserver");
  return decisionBefore(chain, client) ?? chain[client] ?? fact;
}

/** The number of a step's facts in which a cause is searched, for steps that last long. */
const MAX_SEARCHED = 300;

/**
 * The last change or decision that a step's own commands caused, for a check without an object or output.
 * @param events the facts of the lab
 * @param ofStep those since the step began
 * @returns undefined if there is none
 */
export function evidenceOfStep(
  ofStep: readonly TraceEvent[],
  events: readonly TraceEvent[],
  most = MAX_FACTS,
): Evidence | undefined {
  const graph = TraceGraph.of(events);
  const candidates = ofStep.filter(
    (one) => (one.kind === "state" || one.kind === "decision") && one.level <= 2 && !isAllowed(one),
  );
  for (const one of candidates.slice(-MAX_SEARCHED).toReversed()) {
    const chain = graph.chainOf(one);
    const [first] = chain;
    // Activity that an earlier step began continues by itself.
    if (first !== undefined && ofStep.includes(first) && (first.actor === "user" || isOfKubectl(first)))
      return evidenceOf(chain, most);
  }
  return undefined;
}

/** @param others deciding facts in addition to the last of the chain */
function evidenceOf(
  chain: readonly TraceEvent[],
  most: number,
  others: readonly TraceEvent[] = [],
  shows: ReadonlyMap<TraceEvent, readonly string[]> = new Map(),
): Evidence {
  const apart = others.filter((one) => !chain.includes(one));
  const kept = new Set([...others, chain.at(-1)]);
  // The origin matters less than the other deciding facts.
  if (apart.length === 0) kept.add(chain[0]);
  const facts = [...apart, ...mostTelling(chain, kept, most - apart.length)].sort((a, b) => startMs(a) - startMs(b));
  // A request's start is computed from rounded times: an effect can seem to begin before it.
  const [firstMs = 0] = facts.map(startMs);
  return {
    facts,
    afterMs: facts.map((one) => Math.max(0, startMs(one) - firstMs)),
    shows: facts.map((one) => shows.get(one) ?? null),
    count: chain.length + apart.length,
  };
}

/** Shortens a long chain: keeps `kept`, each actor's decision before the next actor, and the last facts. */
function mostTelling(
  chain: readonly TraceEvent[],
  kept: Set<TraceEvent | undefined>,
  most: number,
): readonly TraceEvent[] {
  if (chain.length <= most) return chain;
  const size = () => chain.filter((one) => kept.has(one)).length;
  const shown = chain.filter(({ level }) => level <= 2);
  const handovers = chain.flatMap((one, i) => {
    if (one.level > 2 || chain[i + 1]?.actor === one.actor) return [];
    return [decisionBefore(chain, i) ?? one];
  });
  for (const one of [...handovers.toReversed(), ...shown.toReversed()]) if (size() < most) kept.add(one);
  return chain.filter((one) => kept.has(one));
}

/** The last decision or fact of the actor before `end`, which explains more than the request that carries it out. */
function decisionBefore(chain: readonly TraceEvent[], end: number): TraceEvent | undefined {
  for (let i = end; chain[i]?.actor === chain[end]?.actor; i--) {
    const one = chain[i];
    if ((one?.kind === "decision" || one?.kind === "event") && one.level <= 2) return one;
  }
  return undefined;
}
