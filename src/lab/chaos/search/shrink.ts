import type { Scenario } from "../scenario.js";

/** Runs a candidate. @returns whether it still fails in the same way */
export type StillFails = (scenario: Scenario) => Promise<boolean>;

/**
 * Makes a failing scenario smaller as long as it still fails: fewer faults, objects and nodes, fewer arguments, shorter and
 * rounder times. Greedy, as delta debugging with one part at a time.
 * @param mostRuns of candidates
 */
export async function shrink(failing: Scenario, stillFails: StillFails, mostRuns: number): Promise<Scenario> {
  let smallest = failing;
  let runs = 0;
  for (let wasSmaller = true; wasSmaller; ) {
    wasSmaller = false;
    for (const candidate of smallerOnes(smallest)) {
      if (runs === mostRuns) return smallest;
      runs++;
      if (!(await stillFails(candidate))) continue;
      smallest = candidate;
      wasSmaller = true;
      break;
    }
  }
  return smallest;
}

/** Each scenario that is one step smaller, the largest steps first. Pure. */
function smallerOnes(scenario: Scenario): readonly Scenario[] {
  const { do: faults, objects, nodes } = scenario;
  const withFaults = (list: Scenario["do"]): Scenario => ({ ...scenario, do: list });
  return [
    ...faults.map((_, i) => withFaults(faults.toSpliced(i, 1))),
    ...objects.map((_, i) => ({ ...scenario, objects: objects.toSpliced(i, 1) })),
    ...(nodes > 1 && !faults.some((one) => one.with["node"] === `node-${nodes}`)
      ? [{ ...scenario, nodes: nodes - 1 }]
      : []),
    ...faults.flatMap((one, i) => smallerFaults(one).map((smaller) => withFaults(faults.toSpliced(i, 1, smaller)))),
  ];
}

function smallerFaults(fault: Scenario["do"][number]): readonly Scenario["do"][number][] {
  const { when, for: lengthMs, with: args } = fault;
  const optional = ["count", "retryAfterSeconds", "verb", "resource", "power", "silently"].filter((key) => key in args);
  return [
    ...optional.map((key) => {
      const { [key]: _left, ...rest } = args;
      return { ...fault, with: rest };
    }),
    ...(lengthMs === undefined || lengthMs <= 1_000 ? [] : [{ ...fault, for: halfOf(lengthMs) }]),
    ...(typeof when === "string" || when.at < 1_000 ? [] : [{ ...fault, when: { at: halfOf(when.at) } }]),
  ];
}

/** In whole seconds. */
function halfOf(ms: number): number {
  return Math.floor(ms / 2_000) * 1_000;
}
