import type { Repeat } from "../repeats.js";
import type { Step } from "../step.js";
import type { Story } from "../story.js";

/** The list without repeats. */
export interface FoldedRows {
  readonly rows: readonly Step[];
  /** the row that represents each repeat: the first row of its first occurrence */
  readonly counters: ReadonlyMap<Step, Repeat>;
}

/**
 * Leaves out the steps of all occurrences of a repeat but the first.
 * @param opened the origins of the repeats whose occurrences are all shown
 * @param kept is always shown
 */
export function foldRows(
  { repeats }: Pick<Story, "repeats">,
  steps: readonly Step[],
  opened: ReadonlySet<Step>,
  kept: Step | undefined,
): FoldedRows {
  const found = repeats.find();
  const counters = new Map<Step, Repeat>();
  const counted = new Set<Repeat>();
  const rows = steps.filter((step) => {
    const root = repeats.rootOf(step);
    const repeat = found.get(root);
    if (repeat === undefined) return true;
    if (root !== repeat.first) return step === kept || opened.has(repeat.first);
    if (!counted.has(repeat)) counters.set(step, repeat);
    counted.add(repeat);
    return true;
  });
  return { rows, counters };
}
