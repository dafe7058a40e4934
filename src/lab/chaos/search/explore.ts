import { isAbortError, LabError } from "../../../util/errors.js";
import { SeededRandom } from "../../../util/seeded-random.js";
import { runScenario } from "../run.js";
import type { Scenario } from "../scenario.js";
import type { RunDeps } from "../stage.js";
import type { Judgement } from "../verdict.js";
import { randomScenario } from "./generate.js";
import { shrink } from "./shrink.js";
import type { Wanted } from "./wanted.js";

/** More candidates are not run for one failure. */
const MOST_SHRINKING_RUNS = 60;

/** A run that broke something. */
export interface Failure {
  readonly seed: number;
  /** what it broke, in the first run */
  readonly judgement: Judgement;
  /** the smallest scenario that fails in the same way, with its seed */
  readonly scenario: Scenario;
  /** false: the second run with the same seed did not fail; the scenario is then the whole one */
  readonly isRepeatable: boolean;
}

export interface Explored {
  readonly runs: number;
  readonly failures: readonly Failure[];
}

export interface ExploreOptions {
  readonly wanted: Wanted;
  readonly runs: number;
  /** of the first run; the next ones have the next numbers */
  readonly seed: number;
  /** called when something begins, with what there is so far */
  onProgress(explored: Explored, doing: { readonly seed: number; readonly shrinking: boolean }): void;
  /** called with each failure once its scenario is as small as it gets */
  onFailure(failure: Failure): Promise<void>;
}

/**
 * Runs random scenarios and makes those that fail as small as possible.
 * @returns what was found until the end, or until the signal ended it
 */
export async function explore(deps: Pick<RunDeps, "context">, options: ExploreOptions): Promise<Explored> {
  const { wanted, runs, seed: first, onProgress, onFailure } = options;
  const failures: Failure[] = [];
  let done = 0;
  const progress = (seed: number, shrinking: boolean) => onProgress({ runs: done, failures }, { seed, shrinking });
  try {
    for (let seed = first; seed < first + runs; seed++) {
      progress(seed, false);
      const scenario = scenarioOf(seed, wanted);
      const { broken, missed } = await runOnce(deps, scenario, seed);
      done++;
      if (broken === undefined) continue;
      progress(seed, true);
      const failure = await smallest(deps, without(scenario, missed), seed, broken);
      failures.push(failure);
      await onFailure(failure);
    }
  } catch (error) {
    if (!isAbortError(error)) throw error;
  }
  return { runs: done, failures };
}

/** The scenario of a seed. */
export function scenarioOf(seed: number, { invariants, never }: Wanted): Scenario {
  const made = randomScenario(new SeededRandom(seed).part("scenario"), invariants);
  const lengths = made.do.map(({ when, for: ms = 0 }) => (typeof when === "string" ? 0 : when.at + ms));
  const within = Math.max(60_000, ...lengths);
  return { ...made, seed, expect: never.map((condition) => ({ condition, from: 0, within, never: true })) };
}

async function smallest(
  deps: Pick<RunDeps, "context">,
  scenario: Scenario,
  seed: number,
  judgement: Judgement,
): Promise<Failure> {
  const stillFails = async (candidate: Scenario) => {
    const { broken, missed } = await runOnce(deps, candidate, seed);
    return broken?.condition === judgement.condition && missed.length === 0;
  };
  const isRepeatable = await stillFails(scenario);
  const shrunk = isRepeatable ? await shrink(scenario, stillFails, MOST_SHRINKING_RUNS) : scenario;
  return {
    seed,
    judgement,
    scenario: { ...shrunk, title: `${judgement.condition} (found with seed ${seed})` },
    isRepeatable,
  };
}

/** @returns the first judgement that failed, and the faults that had nothing to break */
async function runOnce(deps: Pick<RunDeps, "context">, scenario: Scenario, seed: number) {
  const missed: Scenario["do"][number][] = [];
  const onMissed = (entry: Scenario["do"][number]) => void missed.push(entry);
  try {
    const judgements = await runScenario({ ...deps, random: new SeededRandom(seed) }, scenario, { onMissed });
    return { broken: judgements.find(({ holds }) => !holds), missed };
  } catch (error) {
    // Time that stands still is a finding, too.
    if (!(error instanceof LabError) || error.code !== "FAILED") throw error;
    return {
      broken: { condition: "the time stands still", holds: false, wanted: "never", fact: error.message },
      missed,
    };
  }
}

function without(scenario: Scenario, missed: readonly Scenario["do"][number][]): Scenario {
  return { ...scenario, do: scenario.do.filter((entry) => !missed.includes(entry)) };
}
