import type { StageTests, Wrong } from "./messages.js";
import { runCase } from "./run-case.js";

/** Where a case is. */
export type Place = Pick<Wrong, "stage" | "check" | "number">;

export interface StagesDeps {
  /** reports the calls that are about to run, for a process that does not come back */
  readonly at: (calls: readonly string[], place: Place) => void;
  /** the learner's code goes on although it was stopped; does not return */
  readonly swallowed: () => never;
  readonly passed: (stage: string) => void;
  /** of the learner's file, to find its line in a stack */
  readonly url: string;
}

/** Runs the checks of each stage in order. @returns the first case that fails; undefined: all is right */
export async function firstWrong(
  stages: readonly StageTests[],
  written: Readonly<Record<string, unknown>>,
  { at, swallowed, passed, url }: StagesDeps,
): Promise<Wrong | undefined> {
  for (const { stage, exports, async, checks } of stages) {
    for (const { id: check, cases } of checks) {
      for (const [i, test] of cases.entries()) {
        const place = { stage, check, number: i + 1 };
        const found = await runCase(exports, written[exports], test, {
          url,
          async,
          swallowed,
          at: (calls) => at(calls, place),
        });
        if (found !== undefined) return { ...place, ...found };
      }
    }
    passed(stage);
  }
  return undefined;
}
