/**
 * Time as a parameter. The only file that reads the system clock or starts a timer.
 *
 * Mirrors k8s.io/utils/clock (Clock): what takes a Clock can be driven by a test or sped up by `--speed`.
 */
export interface Clock {
  /** Unix ms, on this clock (a sped-up clock runs ahead of the wall). */
  now(): number;
  /**
   * Resolves after `ms` milliseconds of this clock.
   * @throws the signal's reason (an AbortError by default) when `signal` aborts first; the timer is gone then
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** setTimeout cannot hold more than a signed 32 bit count of milliseconds (24.8 days): longer sleeps are cut in pieces. */
const MAX_TIMER_MS = 2_000_000_000;

/**
 * The system clock, `speed` times as fast since `epochMs` (Unix ms; default: the moment it is made). Two processes with
 * the same speed and epoch read the same time.
 */
export class SystemClock implements Clock {
  readonly #startMs: number;
  readonly #startMonotonicMs = performance.now();

  constructor(
    readonly speed = 1,
    readonly epochMs = Date.now(),
  ) {
    this.#startMs = epochMs + (Date.now() - epochMs) * speed;
  }

  /** Monotonic from construction on: a step of the system time does not move it. */
  now(): number {
    return Math.round(this.#startMs + (performance.now() - this.#startMonotonicMs) * this.speed);
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    let leftMs = Math.max(0, ms) / this.speed;
    do {
      const pieceMs = Math.min(leftMs, MAX_TIMER_MS);
      await timer(pieceMs, signal);
      leftMs -= pieceMs;
    } while (leftMs > 0);
  }
}

function timer(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(handle);
      reject(signal?.reason);
    };
    const handle = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
