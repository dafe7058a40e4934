import type { TraceEvent } from "../events.js";
import { isChinese } from "../formats/name.js";
import { startMs, type TraceGraph } from "../graph/graph.js";
import zh from "./browser/content/words.zh.json" with { type: "json" };
import { Lanes } from "./browser/lanes.js";
import { plotsOf, sequenceOf } from "./browser/plot.js";
import type { Step } from "./browser/step.js";
import { sequenceSvg } from "./sequence-svg.js";

const ZH: Readonly<Record<string, string>> = zh;
const NO_STORY = "This run tells no story: --trace FILE.html shows all its facts.";

/** The story that the run told last, as a numbered sequence picture: the page's columns and numbers. */
export function storySvg(graph: TraceGraph): [string] {
  const words = isChinese([...graph.events, ...graph.stories]) ? ZH : {};
  const say = (text: string) => words[text] ?? text;
  const lanes = new Lanes();
  const stepOf = (event: TraceEvent): Step => {
    const [lane, target] = [lanes.of(event), lanes.otherEnd(event)];
    return { event, bodies: undefined, startMs: startMs(event), lane, target };
  };
  const plot = plotsOf(
    graph.stories,
    (id) => [graph.get(id)].flatMap((event) => event ?? []).map(stepOf)[0],
    ({ event }) => graph.effectsOf(event).map(stepOf),
  ).at(-1);
  return [
    sequenceSvg(
      plot?.title ?? say(NO_STORY),
      sequenceOf(plot?.steps ?? [], plot?.startMs ?? 0, say),
      lanes.sorted,
      say,
    ),
  ];
}
