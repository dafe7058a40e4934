/** The CPU time of a unit of work. It is counted, not measured, because the containers share a thread. */
export const NS_PER_UNIT = 8_000;
/** The work between two turns of the event loop, in units. A unit is a simple command; 200 take one or two ms. */
const UNITS_PER_TURN = 200;

/** A container's weight without CPU shares: Docker's and Kubernetes' 1,024. */
const DEFAULT_SHARES = 1024;
/** The kernel's MIN_SHARES. */
const MIN_SHARES = 2;

/**
 * Shares one thread among containers, and between them and everything else on the thread. Work is counted, not timed:
 * after some units a process waits for a later turn of the event loop. Each turn serves one process, of the container
 * with the least work for its shares.
 *
 * Mirrors kernel/sched/fair.c (vruntime, place_entity). Differs: processes of one container take turns in order.
 */
export class Scheduler {
  /** turns that served a waiting process */
  turns = 0;
  #left = UNITS_PER_TURN;
  #isArmed = false;
  /** the virtual time of the container served last; a container that was idle starts here */
  #virtualTime = 0;
  readonly #waiting = new Set<CpuTime>();

  /** @param later runs a function in the next turn of the event loop */
  constructor(readonly later: (run: () => void) => void = setImmediate) {}

  /** Counts work. @returns false if this turn is over */
  spend(units: number): boolean {
    this.#arm();
    this.#left -= units;
    return this.#left > 0;
  }

  queue(container: CpuTime): void {
    if (this.#waiting.has(container)) return;
    container.virtualTime = Math.max(container.virtualTime, this.#virtualTime);
    this.#waiting.add(container);
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.later(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#isArmed = false;
    this.#left = UNITS_PER_TURN;
    let next: CpuTime | undefined;
    for (const one of this.#waiting) if (next === undefined || one.virtualTime < next.virtualTime) next = one;
    if (next === undefined) return;
    this.#virtualTime = next.virtualTime;
    this.turns++;
    this.#arm();
    if (!next.serve()) this.#waiting.delete(next);
  }
}

/** A process that waits for its turn. */
interface Waiter {
  readonly isOver: () => boolean;
  readonly resume: () => void;
}

/** The CPU time of one container. */
export class CpuTime {
  /** all work of the container */
  usedUnits = 0;
  /** how often one of its processes had to wait for its turn */
  waits = 0;
  /** work divided by the weight: the container with the least is served first */
  virtualTime = 0;
  readonly #weight: number;
  /** newest last */
  readonly #arriving: Waiter[] = [];
  /** the earlier ones, newest first, because taking from the end moves no others */
  #waiting: Waiter[] = [];

  /**
   * @param shares CPU shares of the container; undefined or 0: 1,024
   * @param limitMilliCores its quota, which only affects programs that simulate the work of whole cores
   */
  constructor(
    readonly scheduler: Scheduler,
    shares?: number,
    readonly limitMilliCores: () => number | undefined = () => undefined,
  ) {
    this.#weight = Math.max(MIN_SHARES, shares || DEFAULT_SHARES) / DEFAULT_SHARES;
  }

  /**
   * Counts work of a process. @returns undefined while the turn lasts; else resolves in a later turn
   * @param isOver the process has ended and needs no turn of its own
   */
  turn(units: number, isOver: () => boolean): Promise<void> | undefined {
    this.usedUnits += units;
    this.virtualTime += units / this.#weight;
    if (this.scheduler.spend(units)) return undefined;
    this.waits++;
    return new Promise((resume) => {
      this.#arriving.push({ isOver, resume });
      this.scheduler.queue(this);
    });
  }

  /** Resumes the process that has waited longest, and all that have ended. @returns whether others wait */
  serve(): boolean {
    for (let next = this.#first(); next !== undefined; next = this.#first()) {
      next.resume();
      if (!next.isOver()) break;
    }
    return this.#waiting.length + this.#arriving.length > 0;
  }

  #first(): Waiter | undefined {
    if (this.#waiting.length === 0) this.#waiting = this.#arriving.splice(0).reverse();
    return this.#waiting.pop();
  }
}
