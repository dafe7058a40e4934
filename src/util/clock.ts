/**
 * Time as a parameter. This is the only file that reads the system clock or starts a timer.
 *
 * Mirrors k8s.io/utils/clock (Clock): tests can control code that takes a Clock, and `--speed` can accelerate it.
 */
export interface Clock {
  /** the speed relative to the wall clock; undefined for clocks that do not follow it */
  readonly speed?: number;
  /** Unix ms on this clock (an accelerated clock is ahead of the wall clock). */
  now(): number;
  /**
   * Resolves after `ms` milliseconds of this clock.
   * @throws the signal's reason (an AbortError by default) when `signal` aborts first; the timer is cleared
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `onTime` after `ms` milliseconds of this clock, unless it is stopped first. Use it for time limits that are
   * rarely reached: an aborted sleep costs a controller, a signal, a promise and an error.
   */
  timer(ms: number, onTime: () => void): Timer;
}

/** A scheduled call. */
export interface Timer {
  /** Cancels the call. Safe to call twice, and after the call. */
  stop(): void;
}

/** A system clock's time and speed at one moment, from which another process of this machine derives the same clock. */
export interface ClockReading {
  readonly speed: number;
  /** Unix ms on the clock */
  readonly clockMs: number;
  /** the machine's monotonic time at that moment, in ms */
  readonly monotonicMs: number;
}

/** setTimeout takes at most a signed 32 bit count of milliseconds (24.8 days), so longer sleeps are split. */
const MAX_TIMER_MS = 2_000_000_000;

/** The system clock, `speed` times as fast from its construction on. */
export class SystemClock implements Clock {
  #speed: number;
  #startMs: number;
  #startMonotonicMs = performance.now();
  /** wakes sleepers that must recompute their remaining time */
  readonly #wakers = new Set<() => void>();
  readonly #speedListeners = new Set<() => void>();

  /** @param behindMs how far behind the system's time it starts */
  constructor(speed = 1, behindMs = 0) {
    this.#speed = speed;
    this.#startMs = Date.now() - behindMs;
  }

  get speed(): number {
    return this.#speed;
  }

  /** Monotonic from construction on: a change of the system time has no effect. */
  now(): number {
    return Math.round(this.#exactMs());
  }

  #exactMs(): number {
    return this.#startMs + (performance.now() - this.#startMonotonicMs) * this.#speed;
  }

  /** Changes the speed. The time does not jump; sleepers wait for their remaining time at the new speed. */
  setSpeed(speed: number): void {
    this.#continueFrom(this.#exactMs(), speed);
    for (const listener of [...this.#speedListeners]) listener();
  }

  #continueFrom(clockMs: number, speed: number): void {
    this.#startMs = clockMs;
    this.#startMonotonicMs = performance.now();
    this.#speed = speed;
    for (const wake of [...this.#wakers]) wake();
  }

  /** Calls `listener` after each change of the speed, until it is disposed of. */
  onSpeedChange(listener: () => void): Disposable {
    this.#speedListeners.add(listener);
    return { [Symbol.dispose]: () => void this.#speedListeners.delete(listener) };
  }

  get reading(): ClockReading {
    return { speed: this.#speed, clockMs: this.#exactMs(), monotonicMs: monotonicMs() };
  }

  /** Shows the time of the clock that was read, at its speed. */
  follow({ speed, clockMs, monotonicMs: readMs }: ClockReading): void {
    this.#continueFrom(clockMs + (monotonicMs() - readMs) * speed, speed);
    for (const listener of [...this.#speedListeners]) listener();
  }

  /**
   * The clock of a machine that is wrong by `offsetMs`, negative if it is late: at this clock's speed, also when that changes.
   * It follows as long as this one is in use.
   */
  wrongBy(offsetMs: number): SystemClock {
    const wrong = new SystemClock();
    const follow = () => wrong.follow({ ...this.reading, clockMs: this.#exactMs() + offsetMs });
    follow();
    this.onSpeedChange(follow);
    return wrong;
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

/** Monotonic time that all processes of this machine share; `performance.now()` starts with its process. */
function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Implements a clock's sleep with its timer. */
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

/** A wall-clock timer that restarts until the clock has reached its time. */
class WallTimer implements Timer {
  #handle: NodeJS.Timeout;

  /**
   * @param ms wall-clock milliseconds
   * @param leftMs the current remainder in wall-clock milliseconds
   * @param wakers callbacks for changes of the clock's speed
   */
  constructor(
    ms: number,
    readonly leftMs: () => number,
    readonly wakers: Set<() => void>,
    readonly onTime: () => void,
  ) {
    this.#handle = setTimeout(this.#look, Math.min(Math.ceil(ms), MAX_TIMER_MS));
    wakers.add(this.#look);
  }

  readonly #look = (): void => {
    clearTimeout(this.#handle);
    const ms = this.leftMs();
    // setTimeout drops fractions of a millisecond, so it can fire early. A loop that counts ticks would count one twice.
    if (ms > 0) this.#handle = setTimeout(this.#look, Math.min(Math.ceil(ms), MAX_TIMER_MS));
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
