import { type Clock, SystemClock } from "../clock.js";

/** How long work that waits for no socket may keep the process, in ms. */
const TURN_MS = 5;

/** Yields to the process's sockets and timers between pieces of work that wait for neither. Loops that share one object share its turns. */
export class Turns {
  #startMs: number;
  #next: Promise<void> | undefined;

  /** @param clock the machine's: on one that is held a turn would never end */
  constructor(readonly clock: Pick<Clock, "now"> = new SystemClock()) {
    this.#startMs = clock.now();
  }

  /** @returns undefined while the turn lasts, so that a short piece of work does not wait */
  next(): Promise<void> | undefined {
    if (this.#next === undefined && this.clock.now() - this.#startMs < TURN_MS) return undefined;
    this.#next ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#startMs = this.clock.now();
        this.#next = undefined;
        resolve();
      });
    });
    return this.#next;
  }
}
