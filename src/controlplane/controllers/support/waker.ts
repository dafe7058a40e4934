import type { Clock } from "../../../util/clock.js";

const WOKEN = Symbol("woken");

/**
 * Lets one loop sleep until a moment or until somebody has something for it, whichever comes first. Nothing polls: a
 * loop without a deadline costs nothing until it is woken.
 */
export class Waker {
  #waiting: AbortController | undefined;
  #pending = false;

  /** Ends the wait that is going on, or the next one before it begins. */
  wake(): void {
    this.#pending = true;
    this.#waiting?.abort(WOKEN);
  }

  /**
   * @param untilMs Unix ms on the clock; undefined: only a wake ends the wait
   * @throws the signal's reason
   */
  async wait(clock: Clock, untilMs: number | undefined, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#pending) await this.#sleep(clock, untilMs, signal);
    this.#pending = false;
  }

  async #sleep(clock: Clock, untilMs: number | undefined, signal: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    this.#waiting = waiting;
    const onAbort = () => waiting.abort(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      if (untilMs === undefined) await aborted(waiting.signal);
      else await clock.sleep(Math.max(0, untilMs - clock.now()), waiting.signal);
    } catch (error) {
      if (error !== WOKEN) throw error;
    } finally {
      this.#waiting = undefined;
      signal.removeEventListener("abort", onAbort);
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
