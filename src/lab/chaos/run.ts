import { createUnlessThere } from "../../testbed/create-unless-there.js";
import { HeldTime } from "../../testbed/time/held-time.js";
import type { TraceEvent } from "../../trace/events.js";
import { Disposables } from "../../util/async/disposables.js";
import { SystemClock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { pathOf, resourceOf } from "../kubectl/resources.js";
import type { InjectionArguments } from "../labs/environment/environment.js";
import { inject } from "../labs/environment/injections.js";
import { FAULTS } from "./faults.js";
import type { Guard } from "./guard.js";
import { RealTime } from "./real/real-time.js";
import type { Scenario } from "./scenario.js";
import { openControlPlane, openNodes, type RunDeps, type Stage } from "./stage.js";
import { type Judgement, judge, Watch } from "./verdict.js";

/** Conditions are looked at this often, in ms of the cluster's clock. */
const LOOK_MS = 1_000;
/** After the last fault everything must come to its end within this time: two back-offs of five minutes, and what follows. */
const SETTLE_MS = 12 * 60_000;
/** What has come to its end must stay so for this time. */
const CALM_MS = 30_000;

/** How a run treats what is not there. */
interface RunOptions {
  /** called for a fault that found nothing to break, such as a container that had ended; default: it fails the run */
  readonly onMissed?: (entry: Scenario["do"][number]) => void;
  /** when its clock begins, in whole seconds, Unix ms; default: now */
  readonly startMs?: number;
  /** changes what is planned, once the moment is known from which its times count */
  readonly change?: (scenario: Scenario, zeroMs: number) => Plan;
}

/** A scenario, and what somebody does in its cluster besides. */
export interface Plan {
  readonly scenario: Scenario;
  /** done at a moment, Unix ms */
  readonly inputs: readonly { readonly atMs: number; readonly run: (stage: Stage) => Promise<void> }[];
}

/** Times of objects have whole seconds: a start on one makes them the same in each run. */
export function wholeSecond(): number {
  return Math.floor(new SystemClock().now() / 1000) * 1000;
}

/**
 * Runs a scenario on a cluster of its own in this process, in virtual time; on real parts in real time.
 * @returns the judgements: one for each expectation, then one for each fault whose `when` was never met and for each invariant
 * @throws LabError REFUSED for an object that the API server refuses; as `inject`; the signal's reason
 */
export async function runScenario(
  deps: RunDeps,
  scenario: Scenario,
  options: RunOptions = {},
): Promise<readonly Judgement[]> {
  const { real } = deps;
  const open = new Disposables();
  const { startMs = wholeSecond(), ...rest } = options;
  const clock = new SystemClock(1, real === undefined ? new SystemClock().now() - startMs + 1000 : 0);
  if (real === undefined) {
    clock.pause(true);
    clock.advanceTo(startMs);
  }
  let isOver = false;
  try {
    const { signal } = deps.context;
    const time = real === undefined ? new HeldTime(clock, true) : new RealTime(clock);
    const heard = { ...deps, onFact: (fact: TraceEvent) => void (isOver || deps.onFact?.(fact)) };
    const plane = await time.during(() => openControlPlane(heard, clock, scenario, open), signal);
    const parts = (await deps.parts?.()) ?? {};
    const stage = await time.during(() => openNodes(heard, plane, parts, scenario, open), signal);
    for (const object of scenario.objects) {
      // What one object leads to is done before the next one comes, so that each run does the same.
      await time.jump(0, signal);
      const known = await resourceOf(stage.client, object, signal);
      await createUnlessThere(stage.client, pathOf(known, object.metadata.namespace ?? "default"), object, signal);
    }
    await time.jump(0, signal);
    const judgements = await play(stage, scenario, { open, signal, time, ...rest });
    const { after } = parts;
    if (after === undefined) return judgements;
    return [...judgements, ...(await time.during(() => after(stage, signal), signal))];
  } finally {
    // The cluster's end is no part of the run, and needs time that passes.
    isOver = true;
    clock.resume();
    await open.close();
  }
}

interface PlayOptions {
  readonly open: Disposables;
  readonly signal: AbortSignal;
  readonly time: Pick<HeldTime, "during" | "settle" | "jump">;
}

/** Moves the time, causes each fault at its moment and watches for the conditions, until nothing is open. */
async function play(
  stage: Stage,
  planned: Scenario,
  { open, signal, time, onMissed, change }: RunOptions & PlayOptions,
): Promise<readonly Judgement[]> {
  const { clock, guard } = stage;
  const startMs = clock.now();
  const { scenario, inputs } = change?.(planned, startMs) ?? { scenario: planned, inputs: [] };
  const endMs = startMs + lengthOf(scenario);
  const watch = (text: string, fromMs: number, untilMs: number) => {
    const made = new Watch(text, stage, fromMs, untilMs);
    open.defer(async () => made[Symbol.dispose]());
    return made;
  };
  const expected = scenario.expect.map((entry) => {
    const fromMs = startMs + entry.from;
    return { entry, watch: watch(entry.condition, fromMs, fromMs + entry.within) };
  });
  const faults = scenario.do.map((entry) => new PlannedFault(entry, startMs, (text) => watch(text, startMs, endMs)));
  const causes = new Causes(stage, signal, onMissed);
  const calm = guard && new Calm(guard);
  for (;;) {
    const nowMs = clock.now();
    // Before the faults of this moment, so that a fact of their begin is seen.
    for (const { watch: one } of expected) await one.look(nowMs, signal);
    for (const one of faults) {
      await one.watch?.look(nowMs, signal);
      for (const [name, args] of one.due(nowMs)) causes.start(one, name, args);
    }
    for (const { atMs, run } of inputs) if (atMs === nowMs) await run(stage);
    causes.throwIfFailed();
    const isDecided = expected.every(({ watch: one }) => one.metMs !== undefined || nowMs >= one.endMs);
    const isOver = isDecided && faults.every((one) => one.isOver);
    if (guard?.isBroken === true) break;
    if ((isOver || nowMs >= endMs) && (calm === undefined || (await calm.isReached(nowMs)))) break;
    const moments = [...faults.map(({ nextMs }) => nextMs), ...inputs.map(({ atMs }) => atMs)].filter(
      (ms) => ms > nowMs,
    );
    await time.jump(Math.max(1, Math.min(nowMs + LOOK_MS, ...moments) - nowMs), signal);
  }
  const neverMet = faults.filter(({ isStarted }) => !isStarted);
  return [
    ...expected.map(({ entry, watch: one }) => judge(entry, one, startMs)),
    ...neverMet.map(({ entry, whenText }) => ({ condition: whenText, holds: false, wanted: `fault ${entry.fault}` })),
    ...(guard?.judgements(startMs) ?? []),
  ];
}

/** When the last expectation is decided, or the last fault with a time is over, in ms from the start. */
function lengthOf({ expect, do: faults }: Scenario): number {
  const ends = faults.map(({ when, for: lengthMs = 0 }) => (typeof when === "string" ? 0 : when.at + lengthMs));
  return Math.max(0, ...expect.map(({ from, within }) => from + within), ...ends);
}

/** Waits until everything has come to its end after the last fault; what does not breaks an invariant. */
class Calm {
  #startMs: number | undefined;
  #calmMs: number | undefined;

  constructor(readonly guard: Guard) {}

  async isReached(nowMs: number): Promise<boolean> {
    this.#startMs ??= nowMs;
    const problems = await this.guard.problems();
    if (problems.length === 0) this.#calmMs ??= nowMs;
    else this.#calmMs = undefined;
    if (this.#calmMs !== undefined) return nowMs >= this.#calmMs + CALM_MS;
    if (nowMs < this.#startMs + SETTLE_MS) return false;
    for (const problem of problems) this.guard.report(problem);
    return true;
  }
}

/** A fault of the scenario: when it begins, and when it is taken back. */
class PlannedFault {
  /** undefined for a fault that begins at a moment */
  readonly watch: Watch | undefined;
  /** Unix ms of its begin, then of its end; infinite if neither is known */
  nextMs: number;
  isStarted = false;

  constructor(
    readonly entry: Scenario["do"][number],
    startMs: number,
    watch: (text: string) => Watch,
  ) {
    const { when } = entry;
    this.watch = typeof when === "string" ? watch(when) : undefined;
    this.nextMs = typeof when === "string" ? Number.POSITIVE_INFINITY : startMs + when.at;
  }

  /** It was caused, and taken back if that has a time. */
  get isOver(): boolean {
    return this.isStarted && this.nextMs === Number.POSITIVE_INFINITY;
  }

  get whenText(): string {
    const { when } = this.entry;
    return typeof when === "string" ? when : `at ${when.at / 1000} s`;
  }

  /** The injections that are due. */
  due(nowMs: number): readonly (readonly [name: string, args: InjectionArguments])[] {
    const { fault, with: args, for: lengthMs } = this.entry;
    if (!this.isStarted) {
      if (nowMs < this.nextMs && this.watch?.metMs === undefined) return [];
      this.isStarted = true;
      this.nextMs = nowMs + (lengthMs ?? Number.POSITIVE_INFINITY);
      return [[fault, args]];
    }
    if (nowMs < this.nextMs) return [];
    this.nextMs = Number.POSITIVE_INFINITY;
    const back = FAULTS[fault]?.undo?.(args);
    return back === undefined ? [] : [back];
  }
}

/** Injections that run while the time goes on, because they may wait for timers. */
class Causes {
  #failure: unknown;

  constructor(
    readonly stage: Stage,
    readonly signal: AbortSignal,
    readonly onMissed: RunOptions["onMissed"],
  ) {}

  start({ entry }: PlannedFault, name: string, args: InjectionArguments): void {
    const { facts } = this.stage;
    const run = () => inject({ ...this.stage, setSpeed: async () => {} }, name, args, this.signal);
    facts.injection(name, args, run).catch((error: unknown) => {
      const isMissed = error instanceof LabError && error.code === "USAGE";
      if (isMissed && this.onMissed !== undefined) this.onMissed(entry);
      else this.#failure ??= error;
    });
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}
