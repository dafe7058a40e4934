import { type PendingTimer, type Timer, type Wait, WallTimer } from "./timer.js";

/**
 * Time as a parameter. This is the only file that reads the system clock or starts a timer.
 *
 * Mirrors k8s.io/utils/clock (Clock): tests can control code that takes a Clock, and `--speed` can accelerate it.
 */
export interface Clock {
  /** the speed relative to the wall clock; undefined for clocks that do not follow it */
  readonly speed?: number;
  /** the time stands still, and moves from timer to timer; undefined for clocks that are never held */
  readonly isPaused?: boolean;
  /** a wait of no time ends when all that is ready at its moment is done; undefined for clocks that run what is due at once */
  readonly takesTurns?: boolean;
  /** Unix ms on this clock (an accelerated clock is ahead of the wall clock). */
  now(): number;
  /**
   * Resolves after `ms` milliseconds of this clock.
   * @param wait told to people who hold the clock
   * @throws the signal's reason (an AbortError by default) when `signal` aborts first; the timer is cleared
   */
  sleep(ms: number, signal?: AbortSignal, wait?: Wait): Promise<void>;
  /**
   * Calls `onTime` after `ms` milliseconds of this clock, unless it is stopped first. Use it for time limits that are
   * rarely reached: an aborted sleep costs a controller, a signal, a promise and an error.
   */
  timer(ms: number, onTime: () => void, wait?: Wait): Timer;
}

/** A part in another process that runs on this clock. */
export interface ClockFollower {
  /** Waits until the process has nothing left to do. @returns its pending timers, and whether it did anything since the last call */
  settle(): Promise<{ readonly wasActive: boolean; readonly timers: readonly PendingTimer[] }>;
  /** Shows the clock's new time there. */
  follow(reading: ClockReading): void;
}

/** A system clock's time and speed at one moment, from which another process of this machine derives the same clock. */
export interface ClockReading {
  readonly speed: number;
  /** the time stands still; absent: it passes */
  readonly isPaused?: boolean;
  /** of the timers that are due, the first runs, or none; absent: all run */
  readonly runs?: "first" | "none";
  /** Unix ms on the clock */
  readonly clockMs: number;
  /** the machine's monotonic time at that moment, in ms */
  readonly monotonicMs: number;
}

/** The system clock, `speed` times as fast from its construction on. It can be held: then it only moves when it is told to. */
export class SystemClock implements Clock {
  #speed: number;
  #startMs: number;
  #startMonotonicMs = performance.now();
  #isPaused = false;
  #holdsDue = false;
  readonly #timers = new Set<WallTimer>();
  readonly #speedListeners = new Set<() => void>();
  readonly #followers = new Set<ClockFollower>();

  /** @param behindMs how far behind the system's time it starts */
  constructor(speed = 1, behindMs = 0) {
    this.#speed = speed;
    this.#startMs = Date.now() - behindMs;
  }

  /** The speed while the time passes. */
  get speed(): number {
    return this.#speed;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get takesTurns(): boolean {
    return this.#holdsDue;
  }

  /** Monotonic from construction on: a change of the system time has no effect. */
  now(): number {
    return Math.round(this.#exactMs());
  }

  #exactMs(): number {
    if (this.#isPaused) return this.#startMs;
    return this.#startMs + (performance.now() - this.#startMonotonicMs) * this.#speed;
  }

  /** Wall-clock milliseconds until the time `untilMs` of this clock. */
  readonly #leftMs = (untilMs: number): number => {
    const ms = untilMs - this.#exactMs();
    return this.#isPaused && (ms > 0 || this.#holdsDue) ? Number.POSITIVE_INFINITY : ms / this.#speed;
  };

  /** Changes the speed. The time does not jump; sleepers wait for their remaining time at the new speed. */
  setSpeed(speed: number): void {
    this.#continueFrom(this.#exactMs(), speed, this.#isPaused);
  }

  /**
   * The time stands still, on a whole millisecond, until `resume`. Waiting timers then cost nothing.
   * @param holdsDue a timer that is due waits until `stepTo` or `advanceTo` runs it, in its turn; default: it runs at once
   */
  pause(holdsDue = false): void {
    if (this.#isPaused && holdsDue === this.#holdsDue) return;
    this.#continueFrom(this.now(), this.#speed, true);
    this.#holdsDue = holdsDue;
  }

  resume(): void {
    this.#holdsDue = false;
    this.#continueFrom(this.#exactMs(), this.#speed, false);
  }

  /** Moves the time of a paused clock forward. Timers that are due run in the order of their times. */
  advanceTo(clockMs: number): void {
    this.#continueFrom(Math.max(clockMs, this.#exactMs()), this.#speed, true);
  }

  /**
   * Moves the time of a paused clock forward, but runs only one of the timers that are due.
   * @param owner the process whose first timer runs; undefined: this one
   */
  stepTo(clockMs: number, owner: ClockFollower | undefined): void {
    this.#continueFrom(Math.max(clockMs, this.#exactMs()), this.#speed, true, (one) =>
      one === owner ? "first" : "none",
    );
  }

  #continueFrom(
    clockMs: number,
    speed: number,
    isPaused: boolean,
    runs?: (owner: ClockFollower | undefined) => ClockReading["runs"],
  ): void {
    this.#startMs = clockMs;
    this.#startMonotonicMs = performance.now();
    this.#speed = speed;
    this.#isPaused = isPaused;
    const timers = [...this.#timers].sort((one, other) => one.untilMs - other.untilMs);
    const own = runs?.(undefined);
    const isDue = ({ untilMs }: WallTimer) => isPaused && untilMs <= clockMs;
    for (const timer of own === undefined ? timers : timers.slice(0, own === "first" ? 1 : 0)) timer.look(isDue(timer));
    for (const listener of [...this.#speedListeners]) listener();
    for (const follower of this.#followers) {
      const part = runs?.(follower);
      follower.follow({ ...this.reading, ...(part === undefined ? {} : { runs: part }) });
    }
  }

  /** Calls `listener` after each change of the speed, until it is disposed of. */
  onSpeedChange(listener: () => void): Disposable {
    this.#speedListeners.add(listener);
    return { [Symbol.dispose]: () => void this.#speedListeners.delete(listener) };
  }

  /** Keeps a part in another process on this clock until the result is disposed of. */
  addFollower(follower: ClockFollower): Disposable {
    this.#followers.add(follower);
    return { [Symbol.dispose]: () => void this.#followers.delete(follower) };
  }

  get followers(): readonly ClockFollower[] {
    return [...this.#followers];
  }

  /** The timers of this process, the next one first. */
  get pending(): readonly PendingTimer[] {
    return [...this.#timers].map(({ pending }) => pending).sort((one, other) => one.dueMs - other.dueMs);
  }

  get reading(): ClockReading {
    const paused = this.#isPaused ? { isPaused: true } : {};
    return { speed: this.#speed, clockMs: this.#exactMs(), monotonicMs: monotonicMs(), ...paused };
  }

  /** Shows the time of the clock that was read, at its speed. */
  follow({ speed, clockMs, monotonicMs: readMs, isPaused = false, runs }: ClockReading): void {
    const nowMs = isPaused ? clockMs : clockMs + (monotonicMs() - readMs) * speed;
    this.#continueFrom(nowMs, speed, isPaused, runs === undefined ? undefined : () => runs);
  }

  sleep(ms: number, signal?: AbortSignal, wait?: Wait): Promise<void> {
    return sleepOn(this, ms, signal, wait);
  }

  timer(ms: number, onTime: () => void, wait?: Wait): Timer {
    const waitMs = Math.max(0, ms);
    return new WallTimer({ untilMs: this.#exactMs() + waitMs, waitMs, wait, onTime }, this.#leftMs, this.#timers);
  }
}

/** Monotonic time that all processes of this machine share; `performance.now()` starts with its process. */
function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Implements a clock's sleep with its timer. */
export function sleepOn(clock: Pick<Clock, "timer">, ms: number, signal?: AbortSignal, wait?: Wait): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.stop();
      reject(signal?.reason);
    };
    const timer = clock.timer(
      ms,
      () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      },
      wait,
    );
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
