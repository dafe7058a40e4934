import { concerns, type Thing } from "./picture/things.js";
import type { Step } from "./step.js";
import type { Story } from "./story.js";

/** Which steps are shown. */
export interface Filter {
  /** words that must all occur */
  readonly search: string;
  /** the pod that the actor worked on; undefined: any */
  readonly pod: string | undefined;
  /** what is chosen in the picture; undefined: anything */
  readonly thing: Thing | undefined;
  /** keys of lanes, and kinds, that are not shown */
  readonly hiddenLanes: ReadonlySet<string>;
  readonly hiddenKinds: ReadonlySet<string>;
}

export const NO_FILTER: Filter = {
  search: "",
  pod: undefined,
  thing: undefined,
  hiddenLanes: new Set(),
  hiddenKinds: new Set(),
};

/** @param kept is always shown, such as the selected step */
export function filterSteps(
  story: Pick<Story, "steps" | "textOf">,
  filter: Filter,
  kept: (step: Step) => boolean,
): Step[] {
  const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
  const isShown = (step: Step): boolean => {
    const { event, lane } = step;
    if (filter.pod !== undefined && event.pod !== filter.pod) return false;
    if (filter.thing !== undefined && !concerns(step, filter.thing)) return false;
    if (filter.hiddenLanes.has(lane.key) || filter.hiddenKinds.has(event.kind)) return false;
    if (words.length === 0) return true;
    const text = story.textOf(step);
    return words.every((word) => text.includes(word));
  };
  return story.steps.filter((step) => isShown(step) || kept(step));
}
