import type { TraceEvent } from "../../trace/events.js";
import { startMs, type TraceGraph } from "../../trace/graph/graph.js";
import { asItIs } from "../../trace/translated.js";
import { counted } from "../../util/text/counted.js";
import { hasUnicode } from "../cli/colour.js";
import type { CliContext } from "../cli/context.js";
import { numberedLines, widthBelow } from "../cli/numbered-steps.js";
import { columnsOf } from "../cli/width.js";
import { actorOf, beginningOf, factDetails, signedText } from "./fact-lines.js";
import { type Found, findFact } from "./find-fact.js";
import { loadTraces } from "./load.js";

/** `kubelab trace explain`: why something happened, from the first cause on. */
export async function runExplain(
  context: CliContext,
  paths: readonly string[],
  wanted: string | undefined,
): Promise<void> {
  const graph = await loadTraces(context, paths);
  const found = findFact(graph, wanted);
  const chain = graph.chainOf(found.event);
  const text = explained(graph, found, chain, context).join("\n");
  context.print({ text, json: { beginning: beginningOf(graph, chain[0] ?? found.event), chain } });
}

function explained(
  graph: TraceGraph,
  { event, matches }: Found,
  chain: readonly TraceEvent[],
  context: CliContext,
): string[] {
  const [first = event] = chain;
  const unicode = hasUnicode(context.env);
  const width = columnsOf(context.streams.stdout);
  const { say = asItIs } = context;
  const style = { zeroMs: startMs(first), unicode, say };
  const actors = chain.map((one) => ({ actor: actorOf(one) }));
  const below = widthBelow(actors, width);
  const steps = chain.map((one, i) => ({
    number: i + 1,
    atMs: startMs(one) - style.zeroMs,
    actor: actorOf(one),
    text: signedText(one, style),
    more: factDetails(one, style, below),
  }));
  const effects = graph.effectsOf(event);
  const affected = [...new Set(effects.map(actorOf))].join(", ");
  return [
    say(`It began with ${beginningOf(graph, first)}.`),
    ...numberedLines(steps, width, unicode),
    effects.length === 0
      ? say("It caused nothing more.")
      : say(`It caused ${counted(effects.length, "more fact")} directly, of ${affected}.`),
    ...(matches > 1
      ? [say(`${matches} facts match; this is the last ${event.kind === "state" ? "change of a state" : "one"}.`)]
      : []),
  ];
}
