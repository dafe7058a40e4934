import { isChinese } from "../formats/name.js";
import { startMs, type TraceGraph } from "../graph/graph.js";
import zh from "./browser/content/words.zh.json" with { type: "json" };
import { Lanes } from "./browser/lanes.js";
import { plotsOf } from "./browser/plot.js";
import { sequenceSvg } from "./sequence-svg.js";

const ZH: Readonly<Record<string, string>> = zh;
const NO_STORY = "This run tells no story: --trace FILE.html shows all its facts.";

/** The story that the run told last, as a numbered sequence picture: the page's columns and numbers. */
export function storySvg(graph: TraceGraph): [string] {
  const words = isChinese([...graph.events, ...graph.stories]) ? ZH : {};
  const say = (text: string) => words[text] ?? text;
  const lanes = new Lanes();
  const plot = plotsOf(graph.stories, (id) => {
    const event = graph.get(id);
    if (event === undefined) return undefined;
    return { event, bodies: undefined, startMs: startMs(event), lane: lanes.of(event), target: lanes.otherEnd(event) };
  }).at(-1);
  const steps = (plot?.steps ?? []).map(({ number, text, why = "", step: { event, lane, target, startMs: at } }) => {
    const atMs = at - (plot?.startMs ?? at);
    return { number, lane, target, isReceived: event.kind === "watch", atMs, text, small: why };
  });
  return [sequenceSvg(plot?.title ?? say(NO_STORY), steps, lanes.sorted, say)];
}
