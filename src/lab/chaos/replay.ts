import type { TraceEvent } from "../../trace/events.js";
import { type Difference, firstDifference, partedFacts, type Story, storyOf } from "../../trace/graph/same-story.js";
import { LabError } from "../../util/errors.js";
import { SeededRandom } from "../../util/seeded-random.js";
import { type Change, changed } from "./change.js";
import type { Recording } from "./recording.js";
import { runScenario } from "./run.js";
import type { RunDeps } from "./stage.js";
import type { Judgement } from "./verdict.js";

type ReplayDeps = Omit<RunDeps, "random">;

/** A recorded run, and the same run once more. */
export interface Replayed {
  readonly facts: number;
  /** undefined: both tell the same story */
  readonly difference: Difference | undefined;
}

/** Runs a recorded simulation again, and compares. @throws LabError as `runScenario` */
export async function replay(deps: ReplayDeps, recording: Recording): Promise<Replayed> {
  const { facts } = await runAgain(deps, recording);
  return { facts: facts.length, difference: firstDifference(storyOf(recording.facts), storyOf(facts)) };
}

/** A moment of a recording: the time since its scenario began, or the number of a fact in its file. */
export type Step = { readonly sinceMs: number } | { readonly fact: number };

/** A recorded run, and one that goes on differently. */
export interface WhatIf {
  /** Unix ms: when the scenario began, and the moment from which on the runs differ */
  readonly zeroMs: number;
  readonly fromMs: number;
  /** the facts since then that only the recorded run has, and only the other one */
  readonly recorded: readonly TraceEvent[];
  readonly instead: readonly TraceEvent[];
  /** of the other run */
  readonly judgements: readonly Judgement[];
}

/**
 * Runs a recorded simulation again up to a moment, changes one thing, and goes on.
 * @throws LabError USAGE for a step after the end, and as `changed`; FAILED if the run differs before the step; as `runScenario`
 */
export async function whatIf(deps: ReplayDeps, recording: Recording, step: Step, change: Change): Promise<WhatIf> {
  let [zeroMs, fromMs] = [0, 0];
  const { facts, judgements } = await runAgain(deps, recording, (startMs) => {
    zeroMs = startMs;
    fromMs = momentOf(recording.facts, step, startMs);
    return changed(recording, change, fromMs, startMs);
  });
  const [before, after]: readonly Story[] = [storyOf(recording.facts), storyOf(facts)];
  if (before === undefined || after === undefined) throw new Error("two stories");
  const early = firstDifference(before, after, fromMs);
  if (early !== undefined) {
    const when = `${(early.atMs - zeroMs) / 1000} s, in ${early.of}`;
    throw new LabError(
      "FAILED",
      `the run left the recorded one before the change, at ${when}`,
      "Run it again, without --change.",
    );
  }
  const { a: recorded, b: instead } = partedFacts(before, after, fromMs);
  return { zeroMs, fromMs, recorded, instead, judgements };
}

async function runAgain(
  deps: ReplayDeps,
  recording: Recording,
  plan?: (zeroMs: number) => ReturnType<typeof changed>,
): Promise<{ readonly facts: readonly TraceEvent[]; readonly judgements: readonly Judgement[] }> {
  const { head, scenario } = recording;
  const facts: TraceEvent[] = [];
  const onFact = (fact: TraceEvent) => {
    deps.onFact?.(fact);
    facts.push(fact);
  };
  const change = plan && ((_scenario: typeof scenario, zeroMs: number) => plan(zeroMs));
  const judgements = await runScenario(
    { ...deps, onFact, random: new SeededRandom(head.seed) },
    scenario,
    change === undefined ? { startMs: head.startMs } : { startMs: head.startMs, change },
  );
  return { facts, judgements };
}

/** @throws LabError USAGE */
function momentOf(facts: readonly TraceEvent[], step: Step, zeroMs: number): number {
  const endMs = facts.reduce((last, { atMs }) => Math.max(last, atMs), zeroMs);
  if ("fact" in step) {
    const fact = facts[step.fact - 1];
    if (fact !== undefined) return Math.max(fact.atMs, zeroMs);
    throw new LabError("USAGE", `--from: there is no fact ${step.fact}`, `The recording has ${facts.length} facts.`);
  }
  const atMs = zeroMs + step.sinceMs;
  if (atMs <= endMs) return atMs;
  const end = `${(endMs - zeroMs) / 1000} s`;
  throw new LabError(
    "USAGE",
    `--from: the recording ends at ${end}`,
    `Give a time before it, or the number of a fact.`,
  );
}
