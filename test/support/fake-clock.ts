import { type Clock, sleepOn } from "../../src/util/clock.js";
import type { Timer } from "../../src/util/timer.js";

interface Sleeper {
  readonly deadlineMs: number;
  readonly order: number;
  readonly wake: () => void;
}

/** 2026-01-01T00:00:00Z: an arbitrary fixed time. */
export const START_MS = Date.UTC(2026, 0, 1);

/** Runs everything that needs no clock: microtasks, and callbacks of sockets and streams. */
export async function settle(rounds = 3): Promise<void> {
  for (let i = 0; i < rounds; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits for a fact; the test's own time limit ends a wait without success. */
export async function untilTrue(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await settle(1);
}

/** A clock that only the test moves. */
export class FakeClock implements Clock {
  #nowMs: number;
  #order = 0;
  #sleepers: Sleeper[] = [];

  constructor(startMs = START_MS) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  /** The number of pending waits: 0 after a clean end. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  timer(ms: number, onTime: () => void): Timer {
    const sleeper: Sleeper = {
      deadlineMs: this.#nowMs + Math.max(0, ms),
      order: this.#order++,
      wake: onTime,
    };
    this.#sleepers.push(sleeper);
    const stop = () => {
      this.#sleepers = this.#sleepers.filter((one) => one !== sleeper);
    };
    return { stop };
  }

  /**
   * The time changes at once, and nothing runs meanwhile: the process stood still, or the machine's time was set between two
   * processes. @param ms negative: backwards
   */
  jump(ms: number): void {
    this.#nowMs += ms;
  }

  /** Wakes sleepers in order of their deadlines, at their deadlines, and lets each run before the next. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await settle();
    for (;;) {
      const next = this.#next(endMs);
      if (next === undefined) break;
      this.#sleepers = this.#sleepers.filter((one) => one !== next);
      this.#nowMs = Math.max(this.#nowMs, next.deadlineMs);
      next.wake();
      await settle();
    }
    this.#nowMs = endMs;
  }

  #next(endMs: number): Sleeper | undefined {
    return this.#sleepers
      .filter((one) => one.deadlineMs <= endMs)
      .sort((a, b) => a.deadlineMs - b.deadlineMs || a.order - b.order)[0];
  }
}

/** Predictable random numbers: `float()` returns 0.5 by default, UUIDs count up. */
export class FakeRandom {
  #uuid = 0;
  constructor(readonly fixedFloat = 0.5) {}
  float(): number {
    return this.fixedFloat;
  }
  uuid(): string {
    this.#uuid++;
    return `00000000-0000-4000-8000-${this.#uuid.toString(16).padStart(12, "0")}`;
  }
  bytes(count: number): Buffer {
    return Buffer.alloc(count, 7);
  }
}

/** Predictable random numbers that differ from call to call, for names that must not repeat. */
export class SeededRandom extends FakeRandom {
  #state: number;
  constructor(seed = 1) {
    super();
    this.#state = seed;
  }
  override float(): number {
    // Mulberry32: small, and good enough for names.
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
