import { type ClockFollower, SystemClock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { EventLoop } from "../../util/os/event-loop.js";
import type { PendingTimer } from "../../util/timer.js";

/** What moving the time did. */
export interface Passed {
  /** in ms of the clock */
  readonly ms: number;
  /** the timers with a purpose that ran, in their order */
  readonly ran: readonly PendingTimer[];
}

/** The work itself waits for timers that are due within this time, in ms. It seldom waits for later ones. */
const NEAR_MS = 500;
/** The time moves further only after this many looks, one per millisecond, have found nothing to do. */
const QUIET_LOOKS = 50;
/** A wait that starts again at once would hold the time for ever. */
const MAX_ROUNDS_AT_ONE_TIME = 10_000;
/** More than these are not told. */
const MAX_TOLD = 1_000;

/**
 * Holds the clock of an embedded cluster: time moves from one timer to the next, and only when all processes on the clock
 * have done what they can without it. Real requests are answered meanwhile.
 */
export class HeldTime {
  readonly #loop = new EventLoop();
  readonly #wall = new SystemClock();
  /** the other processes' timers */
  readonly #owners = new WeakMap<PendingTimer, ClockFollower>();

  /**
   * @param oneByOne timers of one moment run one after the other, each when what the one before caused is done, so that two runs
   * do the same; that takes longer. Default: at once
   */
  constructor(
    readonly clock: SystemClock,
    readonly oneByOne = false,
  ) {}

  /**
   * Waits until this process and those that follow its clock have nothing left to do.
   * @param own how many events the request for this call itself caused in this process
   * @returns all timers, the next one first
   */
  async settle(own = 0): ReturnType<ClockFollower["settle"]> {
    let wasActive = await this.#loop.settle(own);
    for (;;) {
      const { followers } = this.clock;
      const answers = await Promise.all(followers.map((follower) => follower.settle()));
      // The answers are events, too; what else came was sent by a process that was active.
      await this.#loop.settle();
      if (!answers.some((answer) => answer.wasActive)) {
        const timers = [this.clock.pending, ...answers.map((answer) => answer.timers)].flat();
        followers.forEach((owner, i) => {
          for (const timer of answers[i]?.timers ?? []) this.#owners.set(timer, owner);
        });
        return { wasActive, timers: timers.sort((one, other) => one.dueMs - other.dueMs) };
      }
      wasActive = true;
    }
  }

  /**
   * Moves the time to the next timer with a purpose. Time limits and other details on the way run too.
   * @throws LabError FAILED when nobody waits for anything
   */
  step(signal: AbortSignal): Promise<Passed> {
    return this.#move(signal, ({ wait }) => wait !== undefined, Number.POSITIVE_INFINITY);
  }

  /** Moves the time by `ms`, timer by timer. */
  async jump(ms: number, signal: AbortSignal): Promise<Passed> {
    return this.#move(signal, () => false, this.clock.now() + ms);
  }

  /**
   * Moves the time, timer by timer, until the condition is met.
   * @param limitMs of the clock
   * @returns undefined if it is not met within the limit
   */
  async until(condition: () => Promise<boolean>, limitMs: number, signal: AbortSignal): Promise<Passed | undefined> {
    const startMs = this.clock.now();
    const endMs = startMs + limitMs;
    const ran: PendingTimer[] = [];
    while (!(await condition())) {
      if (this.clock.now() >= endMs) return undefined;
      ran.push(...(await this.#move(signal, () => true, endMs)).ran);
    }
    return { ms: this.clock.now() - startMs, ran };
  }

  /**
   * Lets the time pass, timer by timer, until the work is done.
   * @param signal ends the work; its time then passes by itself
   * @throws as the work
   */
  async during<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    this.clock.pause(this.oneByOne);
    let isDone = false;
    const result = work().finally(() => {
      isDone = true;
    });
    result.catch(() => {});
    for (let quiet = 0; ; ) {
      if (signal.aborted) this.clock.resume();
      const { wasActive, timers } = await this.settle();
      if (isDone || signal.aborted) return await result;
      quiet = wasActive ? 0 : quiet + 1;
      // A time limit that ran out would end the work.
      const next = timers.find(({ wait, waitMs }) => wait !== undefined || waitMs <= NEAR_MS);
      // On a busy machine a packet can be on its way for a moment that no process sees.
      if (next !== undefined && (next.dueMs - this.clock.now() <= NEAR_MS || quiet > QUIET_LOOKS)) this.#run(next);
      else await this.#wall.sleep(1);
    }
  }

  #run(next: PendingTimer): void {
    if (this.oneByOne) this.clock.stepTo(next.dueMs, this.#owners.get(next));
    else this.clock.advanceTo(next.dueMs);
  }

  /** @param isStop the timer after whose moment the time stops @param endMs the latest moment, unless infinite */
  async #move(signal: AbortSignal, isStop: (timer: PendingTimer) => boolean, endMs: number): Promise<Passed> {
    const { clock } = this;
    clock.pause(this.oneByOne);
    const startMs = clock.now();
    const ran: PendingTimer[] = [];
    let rounds = 0;
    for (;;) {
      signal.throwIfAborted();
      const { timers } = await this.settle();
      const next = timers[0];
      if (next === undefined && endMs === Number.POSITIVE_INFINITY) throw nobodyWaits();
      if (next === undefined || next.dueMs > endMs) break;
      rounds = next.dueMs > clock.now() ? 0 : rounds + 1;
      if (rounds > MAX_ROUNDS_AT_ONE_TIME) throw standsStill(next);
      const due = this.oneByOne ? [next] : timers.filter(({ dueMs }) => dueMs <= next.dueMs);
      this.#run(next);
      ran.push(...due.filter(({ wait }) => wait !== undefined && ran.length < MAX_TOLD));
      if (due.some(isStop)) {
        endMs = clock.now();
        if (!this.oneByOne) break;
      }
    }
    clock.advanceTo(endMs);
    await this.settle();
    return { ms: clock.now() - startMs, ran };
  }
}

function nobodyWaits(): LabError {
  return new LabError("FAILED", "nobody waits for anything: there is no timer to step to", "Create a pod or a node.");
}

function standsStill({ wait }: PendingTimer): LabError {
  const who = wait === undefined ? "a wait without a name" : wait.what;
  return new LabError("FAILED", `the time stands still: ${who} starts again at once, for ever`, "Resume the time.");
}
