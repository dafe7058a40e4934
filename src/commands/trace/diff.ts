import type { TraceEvent } from "../../trace/events.js";
import { type Comparison, compareTraces, type Pair } from "../../trace/graph/compare.js";
import { startMs, type TraceGraph } from "../../trace/graph/graph.js";
import { asItIs } from "../../trace/translated.js";
import { LabError } from "../../util/errors.js";
import type { Say } from "../../util/i18n/sentences.js";
import { hasUnicode } from "../cli/colour.js";
import type { CliContext } from "../cli/context.js";
import { factLine, factWords, type LineStyle } from "./fact-lines.js";
import { loadTraces } from "./load.js";

const MAX_LINES = 20;
const MAX_VALUE = 200;

interface Run {
  readonly name: string;
  readonly graph: TraceGraph;
  readonly style: LineStyle & { readonly say: Say };
}

/** `kubelab trace diff`: what differs between two runs. */
export async function runDiff(context: CliContext, nameA: string, nameB: string, isAll: boolean): Promise<void> {
  const load = async (name: string): Promise<Run> => {
    const graph = await loadTraces(context, [name]);
    const [first] = graph.inOrder();
    const zeroMs = first === undefined ? 0 : startMs(first);
    return { name, graph, style: { zeroMs, unicode: hasUnicode(context.env), say: context.say ?? asItIs } };
  };
  const [a, b] = [await load(nameA), await load(nameB)];
  const comparison = compareTraces(a.graph, b.graph);
  if (comparison.pairs.length === 0) {
    const hint = "Compare two runs of the same command, for example on the embedded and on a real cluster.";
    throw new LabError("FAILED", `${nameA} and ${nameB} have nothing in common: no fact happened in both`, hint);
  }
  context.print({
    text: differences(a, b, comparison, isAll ? Number.POSITIVE_INFINITY : MAX_LINES),
    json: comparison,
  });
}

function differences(a: Run, b: Run, comparison: Comparison, maxLines: number): string {
  const { nodes, pairs, onlyA, onlyB, moved, fields, times } = comparison;
  const { say } = a.style;
  const section = (title: string, lines: readonly string[]) => {
    if (lines.length === 0) return [];
    const more =
      lines.length > maxLines ? [`  ${say(`... and ${lines.length - maxLines} more: --all lists them`)}`] : [];
    return ["", `${say(title)} (${lines.length}):`, ...lines.slice(0, maxLines).map((line) => `  ${line}`), ...more];
  };
  const arrow = a.style.unicode ? "→" : "->";
  const words = (event: TraceEvent) => shortened(factWords(event, a.style));
  const isSame = onlyA.length + onlyB.length + moved.length + fields.length === 0;
  return [
    say(`${summary(a)}; ${summary(b)}; ${pairs.length} happened in both.`),
    ...nodes.map((node) => say(`The node ${node.a} of the one is compared with ${node.b} of the other.`)),
    ...(isSame ? [say("They have the same facts, in the same order, with the same fields.")] : []),
    ...section(
      `Only in ${a.name}`,
      onlyA.map((event) => shortened(factLine(event, a.style))),
    ),
    ...section(
      `Only in ${b.name}`,
      onlyB.map((event) => shortened(factLine(event, b.style))),
    ),
    ...section("In another order", movedLines(pairs, moved, words)),
    ...section(
      "With other fields",
      fields.map(
        ({ a: event, field, from, to }) => `${words(event)}: ${field} ${shortened(from)} ${arrow} ${shortened(to)}`,
      ),
    ),
    ...section(
      "Longer or shorter",
      times.map(
        ({ a: event, fromMs, toMs }) => `${words(event)}: ${fromMs.toFixed(0)} ms ${arrow} ${toMs.toFixed(0)} ms`,
      ),
    ),
  ].join("\n");
}

function summary({ name, graph, style }: Run): string {
  const lastMs = graph.events.reduce((last, { atMs }) => Math.max(last, atMs), style.zeroMs);
  const { length } = graph.events;
  return `${name}: ${length} ${length === 1 ? "fact" : "facts"} in ${((lastMs - style.zeroMs) / 1000).toFixed(3)} s`;
}

/** Names the predecessor of each moved fact in both runs. */
function movedLines(pairs: readonly Pair[], moved: readonly Pair[], words: (event: TraceEvent) => string): string[] {
  const before = (side: "a" | "b") => {
    const last = new Map<string, TraceEvent>();
    const found = new Map<Pair, TraceEvent | undefined>();
    for (const pair of pairs.toSorted(
      (one, two) => startMs(one[side]) - startMs(two[side]) || one[side].seq - two[side].seq,
    )) {
      const of = `${pair.a.actor} ${pair.a.instance ?? ""}`;
      found.set(pair, last.get(of));
      last.set(of, pair[side]);
    }
    return found;
  };
  const [beforeA, beforeB] = [before("a"), before("b")];
  const after = (event: TraceEvent | undefined) => (event === undefined ? "first" : `after ${words(event)}`);
  return moved.map((pair) => `${words(pair.a)}: ${after(beforeA.get(pair))}; now ${after(beforeB.get(pair))}`);
}

function shortened(text: string): string {
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE - 3)}...`;
}
