import type { Actor, StoryFact, TraceEvent, Upstream } from "../../trace/events.js";
import { startMs, type TraceGraph } from "../../trace/graph/graph.js";
import { plainText } from "../../trace/terminal/options.js";
import { factText } from "../../trace/terminal/render-event.js";
import { defined } from "../../util/defined.js";
import type { Say } from "../../util/i18n/sentences.js";
import { CHANNEL, upstreamOf, whyOf } from "./explain.js";

/** One step of an object's life. */
export interface JourneyStep {
  /** the id of its fact */
  readonly fact: string;
  /** 1, 2, 3, ... in the order in which the steps began */
  readonly number: number;
  /** the number of the step that caused it; 0: the cause is not a step of the journey */
  readonly because: number;
  /** since the first step */
  readonly atMs: number;
  readonly actor: Actor;
  /** the node or the controller */
  readonly instance?: string;
  readonly text: string;
  readonly why?: string;
  readonly upstream?: Upstream;
}

/** Calls that only read. */
const LOOKING = /^(?:List|Version$|Status$|ImageStatus$|.*Status$)/;
const TEXT = plainText({ width: () => 1_000, verbosity: 1, startMs: 0 });

/**
 * The steps that a request caused, in the order in which they began.
 * @param until the last step; undefined: all of them
 * @param say the language of the texts; default: English
 * @param named with what only names a function on the way
 */
export function journeySteps(
  graph: TraceGraph,
  root: TraceEvent,
  until: TraceEvent | undefined,
  say?: Say,
  named = false,
): JourneyStep[] {
  const places = placesOf(graph, root);
  const isInTime = (event: TraceEvent) => until === undefined || inOrder(places, event, until) <= 0;
  const told = [...places.keys()].filter((event) => event === root || (isTold(event, named) && isInTime(event)));
  told.sort((a, b) => inOrder(places, a, b));
  const numbers = new Map(told.map((event, i) => [event, i + 1]));
  return told.map((event, i) => {
    const cause = graph.chainOf(event).findLast((one) => one !== event && numbers.has(one));
    const english = whyOf(event);
    const why = english === undefined || say === undefined ? english : say(english);
    const upstream = upstreamOf(event);
    return {
      fact: event.id,
      number: i + 1,
      because: (cause && numbers.get(cause)) ?? 0,
      atMs: (places.get(event)?.atMs ?? 0) - startMs(root),
      actor: event.actor,
      ...(event.instance === undefined ? {} : { instance: event.instance }),
      text: factText(event, { ...TEXT, ...defined({ say }) }).text,
      ...(why === undefined ? {} : { why }),
      ...(upstream === undefined ? {} : { upstream }),
    };
  });
}

/** The steps as the trace's story. */
export function storyOf(title: string, steps: readonly JourneyStep[]): StoryFact {
  const told = steps.map(({ fact, text, why, upstream }) => ({ fact, text, ...defined({ why, upstream }) }));
  return { kind: "story", title, steps: told };
}

/** Their decisions count as steps of a pod's life, even if a command shows them only at a higher level. */
const DECIDERS: ReadonlySet<Actor> = new Set(["controller", "scheduler"]);

/** Reads and the API server's own stages would hide the rest. */
function isTold(event: TraceEvent, named: boolean): boolean {
  switch (event.kind) {
    case "request":
      return event.method !== "GET" && !/\/events(?:\/|\?|$)/.test(event.path);
    case "rpc":
      return !LOOKING.test(event.method);
    case "decision":
      return event.auditId === undefined && (event.level <= 2 || DECIDERS.has(event.actor));
    case "state":
      return !event.subject.startsWith("events ");
    case "watch":
      return event.resource !== "events";
    case "step":
    case "event":
    case "error":
      return event.level <= 3;
    case "note":
      return CHANNEL.test(event.text) || (named && event.upstream !== undefined && event.level <= 3);
    default:
      return false;
  }
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
  // Only watch events show the work of servers without a trace.
  for (const event of graph.events) {
    if (event.kind !== "watch" || !/^(?:pods|deployments)$/.test(event.resource) || !graph.hasUnobservedCause(event))
      continue;
    if (event.atMs >= startMs(root)) places.set(event, { atMs: event.atMs, depth: 1 });
  }
  return places;
}

function inOrder(places: ReadonlyMap<TraceEvent, Place>, a: TraceEvent, b: TraceEvent): number {
  const [one, other] = [places.get(a), places.get(b)];
  if (one === undefined || other === undefined) return 0;
  return one.atMs - other.atMs || one.depth - other.depth || a.seq - b.seq;
}
