import type { TraceGraph } from "./graph.js";

/** A node of one run that has another name in the other run. */
export interface RenamedNode {
  readonly a: string;
  readonly b: string;
}

/** Pairs the nodes whose kubelets only one of the runs has, in order. */
export function renamedNodes(a: TraceGraph, b: TraceGraph): RenamedNode[] {
  const [inA, inB] = [nodesOf(a), nodesOf(b)];
  const others = [...inB].filter((name) => !inA.has(name));
  const own = [...inA].filter((name) => !inB.has(name));
  return own.slice(0, others.length).map((name, i) => ({ a: name, b: others[i] ?? name }));
}

function nodesOf({ events }: TraceGraph): ReadonlySet<string> {
  return new Set(events.flatMap(({ actor, instance }) => (actor === "kubelet" ? (instance ?? []) : [])));
}

/** A text of the second run with the node names of the first one. */
export function renamer(nodes: readonly RenamedNode[]): (text: string) => string {
  if (nodes.length === 0) return (text) => text;
  const names = new Map(nodes.map(({ a, b }) => [b, a]));
  const any = [...names.keys()].sort((x, y) => y.length - x.length).map((name) => name.replaceAll(".", "\\."));
  // A mirror pod ends with the name of its node, an Event begins with it; in a query `=` is `%3D`.
  const pattern = new RegExp(
    `(?:(?<![\\w.])|(?<=%[0-9A-F]{2}))(?:${any.join("|")})(?![\\w-]|\\.(?![0-9a-f]{16}\\b)\\w)`,
    "g",
  );
  return (text) => text.replace(pattern, (name) => names.get(name) ?? name);
}
