import { Waker } from "../../../util/async/waker.js";
import type { Verdict } from "../checks/leaf-check.js";
import { readsOf } from "../checks/reads.js";
import type { Check } from "../format/schema.js";
import { type ChangeDeps, followReads } from "./changes.js";

/** The pause between two runs of a check, in ms of the wall clock, and as a multiple of what the last run took. */
const REST_MS = 100;
const REST_FACTOR = 4;

/**
 * Runs a check, and again after each change of what it reads, one run at a time; changes during a run or the pause after it are one.
 * @param waitsForEffect whether a check that holds at first must fail once before it counts
 * @returns the verdict that holds
 * @throws the signal's reason; LabError as `LabRuns.check`
 */
export async function untilHeld(
  deps: ChangeDeps,
  check: Check,
  waitsForEffect: boolean,
  signal: AbortSignal,
): Promise<Verdict> {
  const { wall } = deps.environment;
  const waker = new Waker();
  let isRunning = false;
  let hasEcho = false;
  await using _ = followReads(deps, readsOf(check), (change) => {
    if (change === "maybe" && isRunning) hasEcho = true;
    else waker.wake();
  });
  let hasFailed = !waitsForEffect;
  let isSecondLook = false;
  for (;;) {
    const startedMs = wall.now();
    isRunning = true;
    const verdict = await deps.runs.check({ ...check, within: undefined }, signal);
    isRunning = false;
    if (verdict.ok && hasFailed) return verdict;
    hasFailed ||= !verdict.ok;
    await wall.sleep(Math.max(REST_MS, REST_FACTOR * (wall.now() - startedMs)), signal);
    // The effects of the check itself look like changes of others: a second look is enough.
    isSecondLook = hasEcho && !isSecondLook;
    hasEcho = false;
    if (!isSecondLook) await waker.wait(wall, undefined, signal);
    else waker.forget();
  }
}
