import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { TraceEvent } from "../../src/trace/events.js";
import { TraceGraph } from "../../src/trace/graph/graph.js";

/** The facts of trace files, as the processes wrote them. */
export function readTraces(...files: readonly string[]): TraceEvent[] {
  return files.flatMap((file) =>
    readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as TraceEvent),
  );
}

/** A verb in the third person begins a step of a story: `stores the token`. PLEG, a part of the kubelet, is named before it. */
export const DOES = /^(?:PLEG )?(?!streams )[a-z]+s:? /;

/** The share of facts that must have a cause among the given facts, or be the origin of a chain. */
const MIN_SHARE = 0.95;

/**
 * Asserts that nearly all facts have a cause or an origin, and that no fact causes itself. The message lists the others by kind.
 * @param isWhole the run ended by itself: no request was in flight whose fact is missing
 */
export function assertCauses(facts: readonly TraceEvent[], isWhole = false): void {
  // Stories are none of the run's own facts.
  const graph = TraceGraph.of(facts);
  const { events } = graph;
  assert(events.length > 0, "the trace has no facts");
  const orphans = events.filter((event) => event.origin === undefined && graph.causeOf(event) === undefined);
  const counts = new Map<string, number>();
  for (const orphan of orphans) {
    const { actor, kind, causedBy } = orphan;
    const words = `${actor} ${kind} ${causedBy === undefined ? "without a cause" : "with an unknown cause"}`;
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  const list = [...counts].sort(([, a], [, b]) => b - a).map(([words, count]) => `${count} x ${words}`);
  const share = 1 - orphans.length / events.length;
  const example = orphans.length === 0 ? "" : `\nfor example ${JSON.stringify(orphans[0])}`;
  assert(
    share >= (isWhole ? 1 : MIN_SHARE),
    `only ${(100 * share).toFixed(1)} % of ${events.length} facts:\n${list.join("\n")}${example}`,
  );
  const circles = events.filter((event) => graph.causeOf(graph.chainOf(event)[0] ?? event) !== undefined);
  assert.deepEqual(circles, [], "circles of causes");
}
