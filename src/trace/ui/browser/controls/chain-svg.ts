import { sequenceSvg } from "../../sequence-svg.js";
import { say } from "../language.js";
import { answeredBy, type PlotStep, sequenceOf } from "../plot.js";
import type { PageState } from "../state.js";
import { titleOf, transportOf } from "../words.js";

/**
 * The causes of the selected step and the step itself as a numbered sequence picture, like the file of `--trace story.svg`: of a story
 * its steps with their numbers, else all facts of the chain.
 */
export function chainSvg(state: PageState): string {
  const plot = state.view.value === "story" ? state.plot.value : undefined;
  const chain = [...state.chain.value.causes, ...[state.selected.value ?? []].flat()];
  const told = chain.flatMap((step) => plot?.byStep.get(step) ?? []);
  const facts = chain.map((step, i): PlotStep => {
    const { event } = step;
    const answered = answeredBy(step, (id) => state.story.get(id));
    return {
      fact: event.id,
      number: i + 1,
      text: titleOf(event),
      why: transportOf(event),
      step,
      sent: undefined,
      answered,
    };
  });
  const steps = told.length > 0 ? told : facts;
  return sequenceSvg(
    steps.at(-1)?.text ?? "",
    sequenceOf(steps, state.span.value.startMs, say),
    state.story.lanes.sorted,
    say,
  );
}
