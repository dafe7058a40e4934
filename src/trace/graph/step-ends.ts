import type { TraceEvent } from "../events.js";
import type { TraceGraph } from "./graph.js";

/**
 * When each step ended, in Unix ms: a step is reported when it begins, and lasts until the last of the facts that it caused
 * directly. Steps without effects are absent.
 */
export function stepEnds(graph: TraceGraph): ReadonlyMap<TraceEvent, number> {
  const ends = new Map<TraceEvent, number>();
  // Effects before their causes, so that a step inside a step is finished first.
  for (const event of graph.inOrder().toReversed()) {
    const cause = graph.causeOf(event);
    if (cause?.kind !== "step") continue;
    ends.set(cause, Math.max(event.atMs, ends.get(event) ?? 0, ends.get(cause) ?? 0));
  }
  return ends;
}
