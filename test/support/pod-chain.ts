import assert from "node:assert/strict";
import type { Actor, TraceEvent } from "../../src/trace/events.js";
import { TraceGraph } from "../../src/trace/graph/graph.js";

/** One fact in a few words: `rpc StartContainer`, `watch pods`, `request PATCH /api/v1/...`. */
export function inWords(event: TraceEvent): string {
  switch (event.kind) {
    case "rpc":
      return `rpc ${event.method}`;
    case "request":
      return `request ${event.method} ${event.path.split("?")[0]}`;
    case "watch":
      return `watch ${event.resource}`;
    case "step":
      return `step ${event.title}`;
    case "decision":
      return `decision ${event.what}`;
    case "state":
      return `state ${event.subject} ${event.what} ${event.to}`;
    default:
      return event.kind;
  }
}

/** The causes of what was done for a pod, in the facts of one or several processes. */
export class PodChain {
  readonly graph: TraceGraph;
  /** what the actors report about the pod */
  readonly facts: readonly TraceEvent[];

  /** @param pod `default/web` */
  constructor(events: readonly TraceEvent[], pod: string, actors: readonly Actor[] = ["kubelet", "runtime"]) {
    this.graph = TraceGraph.of(events);
    this.facts = events.filter((event) => event.pod === pod && actors.includes(event.actor));
  }

  /** Facts whose first cause is not known to be an origin. */
  orphans(): string[] {
    return this.facts.filter((event) => this.graph.chainOf(event)[0]?.origin === undefined).map(inWords);
  }

  /**
   * From the origin to the last fact that matches.
   * @param isWanted of chains
   */
  to(pattern: RegExp, isWanted: (chain: readonly string[]) => boolean = () => true): string[] {
    const ends = this.facts.filter((event) => pattern.test(inWords(event)));
    const last = ends.map((event) => this.graph.chainOf(event).map(inWords)).findLast(isWanted);
    assert(last !== undefined, `no fact of the pod matches ${pattern}`);
    return last;
  }
}

/** Asserts that the patterns match facts of the chain in this order, with others between them. */
export function assertInOrder(chain: readonly string[], patterns: readonly RegExp[]): void {
  let from = 0;
  for (const pattern of patterns) {
    const at = chain.findIndex((one, i) => i >= from && pattern.test(one));
    assert(at >= 0, `${pattern} does not follow in\n${chain.join("\n")}`);
    from = at + 1;
  }
}
