import type { Actor, StoryFact, StoryStep, TraceEvent } from "../../trace/events.js";
import { startMs, type TraceGraph } from "../../trace/graph/graph.js";
import { CHANNEL } from "../../trace/story/reasons.js";
import { isEffect, roleInLife } from "../../trace/story/roles.js";
import { ownText, storyStep } from "../../trace/story/step.js";
import { defined } from "../../util/defined.js";
import type { Say } from "../../util/i18n/sentences.js";

/** One step of an object's life. */
export interface JourneyStep extends StoryStep {
  /** 1, 2, 3, ... in the order in which the steps began */
  readonly number: number;
  /** the number of the step that caused it; 0: the cause is not a step of the journey */
  readonly because: number;
  /** since the first step */
  readonly atMs: number;
  readonly actor: Actor;
  /** the node or the controller */
  readonly instance?: string;
  /** the fact as the trace has it: the request with its answer, the call */
  readonly detail: string;
}

/**
 * The steps that a request caused, in the order in which they began.
 * @param until the last step; undefined: all of them
 * @param say the language of the texts; default: English
 * @param isWhole with all that the request caused, not only the story
 */
export function journeySteps(
  graph: TraceGraph,
  root: TraceEvent,
  until: TraceEvent | undefined,
  say?: Say,
  isWhole = false,
): JourneyStep[] {
  const places = placesOf(graph, root);
  const inTime = [...places.keys()].filter(
    (event) => event === root || until === undefined || inOrder(places, event, until) <= 0,
  );
  const told = new Set(
    isWhole ? inTime.filter((event) => event === root || isShown(event)) : story(graph, inTime, until),
  );
  told.add(root);
  const steps = [...told].sort((a, b) => inOrder(places, a, b));
  const numbers = new Map(steps.map((event, i) => [event, i + 1]));
  return steps.map((event, i) => {
    const cause = graph.chainOf(event).findLast((one) => one !== event && numbers.has(one));
    return {
      ...storyStep(
        event,
        graph.effectsOf(event).find((one) => isEffect(one, event)),
        say,
      ),
      number: i + 1,
      because: (cause && numbers.get(cause)) ?? 0,
      atMs: (places.get(event)?.atMs ?? 0) - startMs(root),
      actor: event.actor,
      ...defined({ instance: event.instance }),
      detail: ownText(event, say),
    };
  });
}

/** The steps as the trace's story. */
export function storyOf(title: string, steps: readonly JourneyStep[]): StoryFact {
  const told = steps.map(({ fact, text, why, topic, upstream }) => ({
    fact,
    text,
    ...defined({ why, topic, upstream }),
  }));
  return { kind: "story", title, steps: told };
}

/** The steps of the life, and the facts between them that lead from one to the next. */
function* story(graph: TraceGraph, facts: readonly TraceEvent[], until: TraceEvent | undefined): Generator<TraceEvent> {
  for (const event of facts) {
    if (event !== until && roleInLife(event) !== "step" && !isOnlyWitness(graph, event)) continue;
    yield* graph.chainOf(event).filter((one) => roleInLife(one) === "link" && facts.includes(one));
    yield event;
  }
}

/** Reads and the API server's own stages would hide the rest. */
function isShown(event: TraceEvent): boolean {
  if (roleInLife(event) !== undefined) return true;
  const { kind, level } = event;
  if (kind === "request") return event.method !== "GET" && !/\/events(?:\/|\?|$)/.test(event.path);
  if (kind === "state") return !event.subject.startsWith("events ");
  if (kind === "note") return CHANNEL.test(event.text) || (event.upstream !== undefined && level <= 3);
  if (kind === "decision") return event.auditId === undefined && level <= 2;
  return level <= 3 && (kind === "step" || kind === "event" || kind === "error");
}

/** Only watch events show the work of servers without a trace: what they stored is in none. */
function isOnlyWitness(graph: TraceGraph, event: TraceEvent): boolean {
  const isWatched = event.kind === "watch" && /^(?:pods|deployments)$/.test(event.resource);
  return isWatched && event.causedBy !== undefined && graph.causeOf(event)?.kind !== "state";
}

/** When a fact began, and the number of causes before it. */
interface Place {
  readonly atMs: number;
  readonly depth: number;
}

/** Times have whole milliseconds, and durations are rounded: nothing begins before its cause. */
function placesOf(graph: TraceGraph, root: TraceEvent): Map<TraceEvent, Place> {
  const places = new Map<TraceEvent, Place>();
  for (const { event, depth } of graph.walk(root)) {
    const cause = event === root ? undefined : graph.causeOf(event);
    const causeMs = cause === undefined ? undefined : places.get(cause)?.atMs;
    places.set(event, { atMs: Math.max(startMs(event), causeMs ?? 0), depth });
  }
  for (const event of graph.events) {
    if (isOnlyWitness(graph, event) && event.atMs >= startMs(root)) places.set(event, { atMs: event.atMs, depth: 1 });
  }
  return places;
}

function inOrder(places: ReadonlyMap<TraceEvent, Place>, a: TraceEvent, b: TraceEvent): number {
  const [one, other] = [places.get(a), places.get(b)];
  if (one === undefined || other === undefined) return 0;
  return one.atMs - other.atMs || one.depth - other.depth || a.seq - b.seq;
}
