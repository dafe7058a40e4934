/**
 * Time as a parameter. The only file that reads the system clock or starts a timer.
 *
 * Mirrors k8s.io/utils/clock (Clock): what takes a Clock can be driven by a test or sped up by `--speed`.
 */
export interface Clock {
  /** how many times as fast as the wall's it runs, where it has to do with the wall's at all */
  readonly speed?: number;
  /** Unix ms, on this clock (a sped-up clock runs ahead of the wall). */
  now(): number;
  /**
   * Resolves after `ms` milliseconds of this clock.
   * @throws the signal's reason (an AbortError by default) when `signal` aborts first; the timer is gone then
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `onTime` after `ms` milliseconds of this clock, unless it is stopped before. For limits that each connection has
   * and hardly any reaches: a sleep that is broken off costs a controller, a signal, a promise and what it rejects with.
   */
  timer(ms: number, onTime: () => void): Timer;
}

/** A call that is to come. */
export interface Timer {
  /** It will not come. Safe to call twice, and when it has come. */
  stop(): void;
}

/** setTimeout cannot hold more than a signed 32 bit count of milliseconds (24.8 days): longer sleeps are cut in pieces. */
const MAX_TIMER_MS = 2_000_000_000;

/**
 * The system clock, `speed` times as fast since `epochMs` (Unix ms; default: the moment it is made), when it read
 * `epochClockMs` (default: the same). Two processes that are given the same three read the same time.
 */
export class SystemClock implements Clock {
  #speed: number;
  #epochMs: number;
  #epochClockMs: number;
  #startMs: number;
  #startMonotonicMs = performance.now();
  /** wakes sleepers whose time has to be reckoned anew */
  readonly #wakers = new Set<() => void>();

  constructor(speed = 1, epochMs = Date.now(), epochClockMs = epochMs) {
    this.#speed = speed;
    this.#epochMs = epochMs;
    this.#epochClockMs = epochClockMs;
    this.#startMs = epochClockMs + (Date.now() - epochMs) * speed;
  }

  get speed(): number {
    return this.#speed;
  }

  /** Unix ms by the wall from which the speed counts */
  get epochMs(): number {
    return this.#epochMs;
  }

  /** Unix ms that this clock read at `epochMs` */
  get epochClockMs(): number {
    return this.#epochClockMs;
  }

  /** Monotonic from construction on: a step of the system time does not move it. */
  now(): number {
    return Math.round(this.#exactMs());
  }

  #exactMs(): number {
    return this.#startMs + (performance.now() - this.#startMonotonicMs) * this.#speed;
  }

  /** From now on time runs so many times as fast. It does not jump; who sleeps sleeps on for what is left. */
  setSpeed(speed: number): void {
    this.#startMs = this.#exactMs();
    this.#startMonotonicMs = performance.now();
    this.#speed = speed;
    this.#epochMs = Date.now();
    this.#epochClockMs = Math.round(this.#startMs);
    for (const wake of [...this.#wakers]) wake();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  timer(ms: number, onTime: () => void): Timer {
    const untilMs = this.#exactMs() + Math.max(0, ms);
    const leftMs = () => (untilMs - this.#exactMs()) / this.#speed;
    return new WallTimer(Math.max(0, ms) / this.#speed, leftMs, this.#wakers, onTime);
  }
}

/** A clock's sleep, made of its timer. */
export function sleepOn(clock: Pick<Clock, "timer">, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.stop();
      reject(signal?.reason);
    };
    const timer = clock.timer(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** A timer of the wall's, set anew until its time has come by the clock. */
class WallTimer implements Timer {
  #handle: NodeJS.Timeout;

  /**
   * @param ms of the wall
   * @param leftMs the same, as it is by now
   * @param wakers who is to be called when the clock's speed changes
   */
  constructor(
    ms: number,
    readonly leftMs: () => number,
    readonly wakers: Set<() => void>,
    readonly onTime: () => void,
  ) {
    this.#handle = setTimeout(this.#look, Math.min(ms, MAX_TIMER_MS));
    wakers.add(this.#look);
  }

  readonly #look = (): void => {
    clearTimeout(this.#handle);
    const ms = this.leftMs();
    // Timers may end a part of a millisecond early.
    if (ms >= 1) this.#handle = setTimeout(this.#look, Math.min(ms, MAX_TIMER_MS));
    else {
      this.stop();
      this.onTime();
    }
  };

  stop(): void {
    clearTimeout(this.#handle);
    this.wakers.delete(this.#look);
  }
}
