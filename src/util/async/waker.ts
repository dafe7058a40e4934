import type { Clock } from "../clock.js";
import type { Timer, Wait } from "../timer.js";

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
   * @param restUntilMs a wake before this time takes effect then
   * @throws the signal's reason
   */
  async wait(
    clock: Clock,
    untilMs: number | undefined,
    signal: AbortSignal,
    wait?: Wait,
    restUntilMs = 0,
  ): Promise<void> {
    signal.throwIfAborted();
    if (!this.#pending || clock.now() < restUntilMs) await this.#sleep(clock, { untilMs, restUntilMs, wait }, signal);
    this.#pending = false;
  }

  #sleep(
    clock: Clock,
    { untilMs, restUntilMs, wait }: { untilMs: number | undefined; restUntilMs: number; wait: Wait | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      let rest: Timer | undefined;
      const stop = () => {
        this.#endWait = undefined;
        timer?.stop();
        rest?.stop();
        signal.removeEventListener("abort", onAbort);
      };
      const end = () => {
        stop();
        resolve();
      };
      const wake = () => {
        const restMs = restUntilMs - clock.now();
        if (restMs <= 0) end();
        else rest ??= clock.timer(restMs, end);
      };
      const onAbort = () => {
        stop();
        reject(signal.reason);
      };
      const timer = untilMs === undefined ? undefined : clock.timer(Math.max(0, untilMs - clock.now()), end, wait);
      this.#endWait = wake;
      signal.addEventListener("abort", onAbort, { once: true });
      if (this.#pending) wake();
    });
  }
}
