import { hasUnicode } from "../../cli/colour.js";
import type { CliContext } from "../../cli/context.js";
import { columnsOf } from "../../cli/width.js";
import type { TraceEvent } from "../../trace/events.js";
import { startMs, type TraceGraph } from "../../trace/graph.js";
import { wrap } from "../../trace/text.js";
import { actorOf, beginningOf, factDetails, factLine } from "./fact-lines.js";
import { type Found, findFact } from "./find-fact.js";
import { loadTraces } from "./load.js";

/** `kubelab trace explain`: why something happened, from what began it. */
export async function runExplain(
  context: CliContext,
  paths: readonly string[],
  wanted: string | undefined,
): Promise<void> {
  const graph = await loadTraces(context, paths);
  const found = findFact(graph, wanted);
  const chain = graph.chainOf(found.event);
  const text = explained(graph, found, chain, columnsOf(context.streams.stdout), hasUnicode(context.env)).join("\n");
  context.print({ text, json: { beginning: beginningOf(graph, chain[0] ?? found.event), chain } });
}

function explained(
  graph: TraceGraph,
  { event, matches }: Found,
  chain: readonly TraceEvent[],
  width: number,
  unicode: boolean,
): string[] {
  const [first = event] = chain;
  const style = { zeroMs: startMs(first), unicode };
  const steps = chain.flatMap((one, i) => {
    const number = `${String(i + 1).padStart(3)} `;
    // The time column of factLine, and a space.
    const indent = " ".repeat(number.length + 9);
    const lines = [factLine(one, style), ...factDetails(one, style, width - indent.length)];
    return lines.flatMap((line, j) =>
      wrap(line, width - indent.length).map((part, k) => (j + k === 0 ? `${number}${part}` : `${indent}${part}`)),
    );
  });
  const effects = graph.effectsOf(event);
  const actors = [...new Set(effects.map(actorOf))].join(", ");
  return [
    `It began with ${beginningOf(graph, first)}.`,
    ...steps,
    effects.length === 0 ? "It caused nothing more." : `It caused ${effects.length} more facts directly, of ${actors}.`,
    ...(matches > 1
      ? [`${matches} facts match; this is the last ${event.kind === "state" ? "change of a state" : "one"}.`]
      : []),
  ];
}
