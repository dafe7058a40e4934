import type { StoryFact, TraceEvent } from "../events.js";

/** One fact of a causal tree, and how many facts lie between it and the fact that the walk began with. */
export interface Walked {
  readonly event: TraceEvent;
  readonly depth: number;
}

/**
 * The facts of one or several traces, each with its cause and its effects. Facts may come in any order: the traces of three
 * processes are added one after the other, and a fact may come before its cause. Also runs in a browser.
 *
 * A fact names its cause by the id of another fact or by the version of an object (`versionOf`). A version means the
 * fact of the API server that stored it, or the request that wrote it if no trace has the API server's facts.
 */
export class TraceGraph {
  readonly #events: TraceEvent[] = [];
  /** the stories that the command told: they name facts of the run */
  readonly stories: (TraceEvent & StoryFact)[] = [];
  readonly #byId = new Map<string, TraceEvent>();
  /** the fact that wrote each version of an object */
  readonly #writers = new Map<string, TraceEvent>();
  /** the facts that name each id or version as their cause */
  readonly #effects = new Map<string, TraceEvent[]>();
  #roots: readonly TraceEvent[] | undefined;

  static of(events: Iterable<TraceEvent>): TraceGraph {
    const graph = new TraceGraph();
    for (const event of events) graph.add(event);
    return graph;
  }

  /** @returns false for a story, and for a fact that the graph has already: a process may relay the facts of another one */
  add(event: TraceEvent): boolean {
    if (event.kind === "story") {
      if (!this.stories.some(({ id }) => id === event.id)) this.stories.push(event);
      return false;
    }
    if (this.#byId.has(event.id)) return false;
    this.#byId.set(event.id, event);
    this.#events.push(event);
    this.#roots = undefined;
    const version = versionBy(event);
    if (version !== undefined && writesBefore(event, this.#writers.get(version))) this.#writers.set(version, event);
    if (event.causedBy === undefined) return true;
    const siblings = this.#effects.get(event.causedBy);
    if (siblings === undefined) this.#effects.set(event.causedBy, [event]);
    else siblings.push(event);
    return true;
  }

  /** in the order in which they were added */
  get events(): readonly TraceEvent[] {
    return this.#events;
  }

  get(id: string): TraceEvent | undefined {
    return this.#byId.get(id);
  }

  /** undefined for an origin, and for a fact whose cause is in none of the traces */
  causeOf({ causedBy }: Pick<TraceEvent, "causedBy">): TraceEvent | undefined {
    return causedBy === undefined ? undefined : (this.#byId.get(causedBy) ?? this.#writers.get(causedBy));
  }

  /** Whether the fact names a cause that is in none of the traces, because its program reports no facts or its trace is missing. */
  hasUnobservedCause(event: TraceEvent): boolean {
    return event.causedBy !== undefined && this.causeOf(event) === undefined;
  }

  /** The facts that this one caused directly, by the time when they began. */
  effectsOf(event: TraceEvent): readonly TraceEvent[] {
    const version = versionBy(event);
    const byId = this.#effects.get(event.id) ?? [];
    const byVersion =
      version !== undefined && this.#writers.get(version) === event ? (this.#effects.get(version) ?? []) : [];
    return [...byId, ...byVersion].sort(byStart);
  }

  /** From the first fact of the chain to this one. */
  chainOf(event: TraceEvent): readonly TraceEvent[] {
    const chain = new Set<TraceEvent>();
    // A damaged or hostile file can contain a cycle of causes.
    for (let at: TraceEvent | undefined = event; at !== undefined && !chain.has(at); at = this.causeOf(at)) {
      chain.add(at);
    }
    return [...chain].reverse();
  }

  /** The first fact of each causal tree, by time. Every fact is in exactly one tree; in a cycle, one fact counts as the first. */
  roots(): readonly TraceEvent[] {
    this.#roots ??= this.#findRoots().sort(byStart);
    return this.#roots;
  }

  /** A fact and all that it caused, depth first. A fact that is in `seen` is left out with its effects. */
  *walk(root: TraceEvent, seen = new Set<TraceEvent>()): Generator<Walked> {
    const stack: Walked[] = [{ event: root, depth: 0 }];
    for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
      const { event, depth } = top;
      if (seen.has(event)) continue;
      seen.add(event);
      yield top;
      for (const effect of this.effectsOf(event).toReversed()) stack.push({ event: effect, depth: depth + 1 });
    }
  }

  /** All facts in order of their start, each after its cause even if the clocks of two machines differ. */
  inOrder(): readonly TraceEvent[] {
    const ordered = new Set<TraceEvent>();
    for (const event of this.#events.toSorted(byStart)) {
      const path: TraceEvent[] = [];
      const begun = new Set<TraceEvent>();
      for (let at: TraceEvent | undefined = event; at !== undefined; at = this.causeOf(at)) {
        if (ordered.has(at) || begun.has(at)) break;
        begun.add(at);
        path.push(at);
      }
      for (const one of path.reverse()) ordered.add(one);
    }
    return [...ordered];
  }

  #findRoots(): TraceEvent[] {
    const roots: TraceEvent[] = [];
    const settled = new Set<TraceEvent>();
    for (const event of this.#events) {
      const path = new Set<TraceEvent>();
      let first = event;
      for (let at: TraceEvent | undefined = event; at !== undefined; at = this.causeOf(at)) {
        first = at;
        if (settled.has(at) || path.has(at)) break;
        path.add(at);
      }
      if (!settled.has(first)) roots.push(first);
      for (const one of path) settled.add(one);
    }
    return roots;
  }
}

/** Unix ms. Requests and calls are reported when they end. */
export function startMs(event: TraceEvent): number {
  return event.kind === "request" || event.kind === "rpc" ? event.atMs - event.durationMs : event.atMs;
}

/** Orders facts by their start, and facts of the same millisecond by their ids, which a process counts up. */
function byStart(a: TraceEvent, b: TraceEvent): number {
  return startMs(a) - startMs(b) || compareText(a.id.slice(8), b.id.slice(8)) || compareText(a.id, b.id);
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function versionBy(event: TraceEvent): string | undefined {
  return event.kind === "state" || event.kind === "request" ? event.version : undefined;
}

/** A request that changes nothing answers with the version of an earlier one. */
function writesBefore(event: TraceEvent, other: TraceEvent | undefined): boolean {
  if (other === undefined) return true;
  return event.kind === other.kind ? byStart(event, other) < 0 : event.kind === "state";
}
