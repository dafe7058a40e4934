import type { TraceEvent } from "../../trace/events.js";
import { nameOf } from "../../trace/formats/name.js";
import type { TraceGraph } from "../../trace/graph/graph.js";
import { LabError } from "../../util/errors.js";

/** The requested fact, and the number of other matches. */
export interface Found {
  readonly event: TraceEvent;
  readonly matches: number;
}

/**
 * Finds what to explain: a fact by its id; the last change of an object (`pod/web`, `pod/default/web`, `node/n1`); the last fact with
 * a text; without `wanted`, the fact at the end of the longest chain.
 * @throws LabError FAILED if nothing matches
 */
export function findFact(graph: TraceGraph, wanted: string | undefined): Found {
  if (wanted === undefined) return { event: longestChain(graph), matches: 1 };
  const byId = graph.get(wanted);
  if (byId !== undefined) return { event: byId, matches: 1 };
  const matching = graph.inOrder().filter(matcher(wanted));
  const event = matching.findLast(({ kind }) => kind === "state") ?? matching.at(-1);
  if (event !== undefined) return { event, matches: matching.length };
  const hint =
    "Name the id of a fact, an object such as pod/web, or a part of a fact's text: `kubelab trace view` lists them.";
  throw new LabError("FAILED", `none of the ${graph.events.length} facts is, is about, or has "${wanted}"`, hint);
}

function matcher(wanted: string): (event: TraceEvent) => boolean {
  const [, kind = "", namespace, name = ""] = /^([a-z]+)\/(?:([^/\s]+)\/)?([^/\s]+)$/i.exec(wanted) ?? [];
  const text = wanted.toLowerCase();
  const hasText = (event: TraceEvent) => nameOf(event).toLowerCase().includes(text);
  if (name === "") return hasText;
  const isNamed = (object: string) =>
    object === name || object === `${namespace}/${name}` || (namespace === undefined && object.endsWith(`/${name}`));
  const isKind = (one: string) => singular(one) === singular(kind);
  return (event) => {
    if (isKind("pod") && event.pod !== undefined && isNamed(event.pod)) return true;
    switch (event.kind) {
      case "state": {
        const [one = "", object = ""] = event.subject.split(" ");
        return isKind(one) && isNamed(object);
      }
      case "watch":
        return isKind(event.resource) && isNamed(event.object);
      case "event": {
        const [one = "", ...object] = event.object.split("/");
        return isKind(one) && isNamed(object.join("/"));
      }
      default:
        return hasText(event);
    }
  };
}

/** `Pod`, `pods` and `pod` are one kind. */
function singular(kind: string): string {
  return kind.toLowerCase().replace(/s$/, "");
}

function longestChain(graph: TraceGraph): TraceEvent {
  let last = { depth: -1, event: graph.events[0] as TraceEvent };
  const seen = new Set<TraceEvent>();
  for (const root of graph.roots()) {
    for (const { event, depth } of graph.walk(root, seen)) if (depth > last.depth) last = { depth, event };
  }
  return last.event;
}
