import type { Verdict } from "../checks/leaf-check.js";
import type { PredictStep } from "../format/schema.js";
import type { LabRuns } from "./actions.js";

/** The time limit and interval for checking the outcomes of a prediction, in ms of the wall clock. */
const SETTLE_MS = 2000;
const SETTLE_AGAIN_MS = 100;

/**
 * Checks the outcomes of a prediction in turn while the cluster keeps changing, until exactly one succeeds.
 * @returns those that succeed at the end
 */
export async function settledOutcomes(
  { outcomes }: PredictStep,
  runs: LabRuns,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Verdict>> {
  const { wall, patienceMs } = runs.environment;
  const untilMs = wall.now() + SETTLE_MS + patienceMs;
  for (;;) {
    const right = new Map<string, Verdict>();
    for (const [key, check] of Object.entries(outcomes)) {
      const verdict = await runs.check(check, signal);
      if (verdict.ok) right.set(key, verdict);
    }
    if (right.size === 1 || wall.now() >= untilMs) return right;
    await wall.sleep(SETTLE_AGAIN_MS, signal);
  }
}
