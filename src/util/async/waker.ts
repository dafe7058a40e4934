import type { Clock } from "../clock.js";
import type { Wait } from "../timer.js";

/**
 * Lets one loop sleep until a deadline or until it is woken, whichever comes first. Nothing polls: a loop without a
 * deadline costs nothing until it is woken.
 */
export class Waker {
  #endWait: (() => void) | undefined;
  #pending = false;

  /** Ends the current wait, or the next one before it begins. */
  wake(): void {
    this.#pending = true;
    this.#endWait?.();
  }

  /** Forgets earlier wakes, because the caller is about to handle them. */
  forget(): void {
    this.#pending = false;
  }

  /**
   * @param untilMs Unix ms on the clock; undefined: only a wake ends the wait
   * @throws the signal's reason
   */
  async wait(clock: Clock, untilMs: number | undefined, signal: AbortSignal, wait?: Wait): Promise<void> {
    signal.throwIfAborted();
    if (!this.#pending) await this.#sleep(clock, untilMs, signal, wait);
    this.#pending = false;
  }

  #sleep(clock: Clock, untilMs: number | undefined, signal: AbortSignal, wait: Wait | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#endWait = undefined;
        timer?.stop();
        signal.removeEventListener("abort", onAbort);
      };
      const end = () => {
        stop();
        resolve();
      };
      const onAbort = () => {
        stop();
        reject(signal.reason);
      };
      const timer = untilMs === undefined ? undefined : clock.timer(Math.max(0, untilMs - clock.now()), end, wait);
      this.#endWait = end;
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}
