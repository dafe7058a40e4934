import { sequenceSvg } from "../../sequence-svg.js";
import { isReceived } from "../lanes.js";
import { say } from "../language.js";
import type { PageState } from "../state.js";
import { titleOf, transportOf } from "../words.js";

/** The causes of the selected step and the step itself as a numbered sequence picture, like the file of `--trace story.svg`. */
export function chainSvg(state: PageState): string {
  const { causes } = state.chain.value;
  const selected = state.selected.value;
  const chain = selected === undefined ? causes : [...causes, selected];
  const textOf = (step: (typeof chain)[number]) => state.plot.value?.byStep.get(step)?.text ?? titleOf(step.event);
  const steps = chain.map((step, i) => ({
    number: i + 1,
    lane: step.lane,
    target: step.target,
    isReceived: isReceived(step.event),
    atMs: step.startMs - state.span.value.startMs,
    text: textOf(step),
    small: transportOf(step.event),
  }));
  return sequenceSvg(selected === undefined ? "" : textOf(selected), steps, state.story.lanes.sorted, say);
}
