import type { TraceEvent } from "../trace/events.js";
import { startMs, TraceGraph } from "../trace/graph.js";
import { versionOf } from "../trace/scope.js";
import { objectOf, partsOf } from "./object-path.js";
import { factWith } from "./printed.js";
import type { CommandResult } from "./runner.js";

/** What a check looked at, so that the fact behind it can be found. */
export type Sight =
  /** a version of an object, see `versionOf` */
  | { readonly version: string }
  /** an object that is gone: `pods default/web` */
  | { readonly gone: string }
  /** objects that may have gone: `pods default/` */
  | { readonly goneFrom: string }
  /** a pattern in what a command printed */
  | { readonly pattern: string; readonly facts: () => readonly TraceEvent[] }
  /** what the cluster reported while a user's program ran */
  | { readonly meanwhile: () => readonly TraceEvent[] };

/** The facts that decided a verdict: how it began, and what led to what the check saw. */
export interface Evidence {
  readonly facts: readonly TraceEvent[];
  /** when each of them began, in ms after the first */
  readonly afterMs: readonly number[];
  /** the length of the whole chain */
  readonly count: number;
}

/** More would hide the verdict. */
const MAX_FACTS = 5;

export function sightOf(object: unknown): readonly Sight[] {
  const version = versionOf(object);
  return version === undefined ? [] : [{ version }];
}

/** @param path of an object: `/api/v1/namespaces/default/pods/web` */
export function sightOfNothing(path: string): readonly Sight[] {
  const parts = partsOf(path);
  return parts.name === undefined ? [] : [{ gone: objectOf(parts) }];
}

/**
 * @param path of a list
 * @param counted the items that a check counts. If there are none, the others and those that are gone made it so.
 */
export function sightOfList(path: string, counted: readonly unknown[], items: readonly unknown[]): readonly Sight[] {
  if (counted.length > 0) return counted.flatMap(sightOf);
  return [...items.flatMap(sightOf), { goneFrom: objectOf(partsOf(path)) }];
}

/** A text that was found in what a command has printed. */
export function sightOfText(pattern: string, { facts, meanwhile }: CommandResult): readonly Sight[] {
  if (facts !== undefined) return [{ pattern, facts }];
  return meanwhile === undefined ? [] : [{ meanwhile }];
}

/**
 * Finds the fact behind each sight: what stored the version that the check saw, the deletion, the first fact whose line has the
 * text, or the API server's last answer to a program, unless it only read. The latest of them decided, with the chain of causes that led to it.
 * @param events the facts of the lab
 * @returns undefined if none of them is known
 */
export function evidenceFor(sights: readonly Sight[], events: readonly TraceEvent[]): Evidence | undefined {
  if (sights.length === 0) return undefined;
  const graph = TraceGraph.of(events);
  const found = sights.flatMap((sight) => factOf(sight, graph) ?? []);
  const [latest] = found.toSorted((a, b) => b.atMs - a.atMs);
  return latest === undefined ? undefined : evidenceOf(graph.chainOf(latest));
}

/** Facts of a step in which a cause is searched: a limit for steps that last long. */
const MAX_SEARCHED = 300;

/**
 * The last change or decision that a step's own commands have caused, for a check that sees no object and no output.
 * @param events the facts of the lab
 * @param ofStep those since the step began
 * @returns undefined if they have caused none
 */
export function evidenceOfStep(ofStep: readonly TraceEvent[], events: readonly TraceEvent[]): Evidence | undefined {
  const graph = TraceGraph.of(events);
  const candidates = ofStep.filter(
    (one) => (one.kind === "state" || one.kind === "decision") && one.level <= 2 && !isAllowed(one),
  );
  for (const one of candidates.slice(-MAX_SEARCHED).toReversed()) {
    const chain = graph.chainOf(one);
    const [first] = chain;
    // What an earlier step began goes on by itself.
    if (first !== undefined && ofStep.includes(first) && (first.actor === "user" || isOfKubectl(first)))
      return evidenceOf(chain);
  }
  return undefined;
}

function evidenceOf(chain: readonly TraceEvent[]): Evidence {
  const facts = mostTelling(chain);
  // A request's start is computed from rounded times: an effect can seem to begin before it.
  const [firstMs = 0] = facts.map(startMs);
  return { facts, afterMs: facts.map((one) => Math.max(0, startMs(one) - firstMs)), count: chain.length };
}

function factOf(sight: Sight, graph: TraceGraph): TraceEvent | undefined {
  if ("version" in sight) return graph.causeOf({ causedBy: sight.version });
  if ("gone" in sight) return lastDeletion(graph, (subject) => subject === sight.gone);
  if ("goneFrom" in sight) return lastDeletion(graph, (subject) => subject.startsWith(sight.goneFrom));
  if ("meanwhile" in sight) return lastAnswer(graph, sight.meanwhile());
  return factWith(sight.pattern, sight.facts());
}

/** The API server's last answer to kubectl: what it decided, or the request. */
function lastAnswer(graph: TraceGraph, meanwhile: readonly TraceEvent[]): TraceEvent | undefined {
  const request = meanwhile.findLast(isOfKubectl);
  if (request === undefined) return undefined;
  const isDecision = (one: TraceEvent) =>
    one.kind === "decision" && (one.upstream === undefined || DECIDING.has(one.upstream.func));
  const decided = graph.effectsOf(request).findLast(isDecision);
  return decided !== undefined && isAllowed(decided) && !isRefused(request) ? undefined : (decided ?? request);
}

/** Every request that is answered was allowed: that explains nothing. */
function isAllowed(one: TraceEvent): boolean {
  return one.kind === "decision" && one.upstream?.func === "WithAuthorization" && one.what.startsWith("allow ");
}

function isRefused(one: TraceEvent): boolean {
  return one.kind === "request" && (one.status ?? 0) >= 400;
}

function isOfKubectl(one: TraceEvent): boolean {
  return one.kind === "request" && /\(kubectl\b/.test(one.identity ?? "");
}

/** Stages of a request that can refuse it. */
const DECIDING = new Set([
  "WithAuthentication",
  "WithImpersonation",
  "WithAuthorization",
  "chainAdmissionHandler.Admit",
  "chainAdmissionHandler.Validate",
]);

function lastDeletion(graph: TraceGraph, isMeant: (subject: string) => boolean): TraceEvent | undefined {
  return graph.events.findLast((one) => one.kind === "state" && one.what === "deleted" && isMeant(one.subject));
}

/** Of a long chain: its ends, what each actor decided before it handed over to the next, and the last facts before the end. */
function mostTelling(chain: readonly TraceEvent[]): readonly TraceEvent[] {
  if (chain.length <= MAX_FACTS) return chain;
  const kept = new Set([chain[0], chain.at(-1)]);
  const shown = chain.filter(({ level }) => level <= 2);
  const handovers = chain.flatMap((one, i) => {
    if (one.level > 2 || chain[i + 1]?.actor === one.actor) return [];
    return [decisionBefore(chain, i) ?? one];
  });
  for (const one of [...handovers.toReversed(), ...shown.toReversed()]) if (kept.size < MAX_FACTS) kept.add(one);
  return chain.filter((one) => kept.has(one));
}

/** What the actor that hands over at `end` decided, or reported, last: it says more than the request that carries it out. */
function decisionBefore(chain: readonly TraceEvent[], end: number): TraceEvent | undefined {
  for (let i = end; chain[i]?.actor === chain[end]?.actor; i--) {
    const one = chain[i];
    if ((one?.kind === "decision" || one?.kind === "event") && one.level <= 2) return one;
  }
  return undefined;
}
