import { setMaxListeners } from "node:events";
import { Bag } from "./bag.js";
import type { Clock } from "./clock.js";

/** A call that waits; `giveUp` is called at most once. */
export interface Waiter {
  readonly giveUp: () => void;
  /** Unix ms on the clock */
  readonly deadlineMs: number;
}

/**
 * The deadlines of all calls of a client, watched by one timer: the kubelet's context.WithTimeout on an injected clock.
 * No timer runs while no call with a deadline is under way.
 */
export class Deadlines {
  readonly #waiters = new Bag<Waiter>();
  #wakeMs = Number.POSITIVE_INFINITY;
  #timer: AbortController | undefined;

  constructor(readonly clock: Clock) {}

  add(timeoutMs: number, giveUp: () => void): Waiter {
    const waiter = { giveUp, deadlineMs: this.clock.now() + timeoutMs };
    this.#waiters.add(waiter);
    if (waiter.deadlineMs < this.#wakeMs) this.#sleepUntil(waiter.deadlineMs);
    return waiter;
  }

  remove(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    if (this.#waiters.size === 0) this.#stop();
  }

  #stop(): void {
    this.#timer?.abort(OVER);
    this.#timer = undefined;
    this.#wakeMs = Number.POSITIVE_INFINITY;
  }

  #sleepUntil(wakeMs: number): void {
    this.#stop();
    this.#wakeMs = wakeMs;
    const timer = new AbortController();
    this.#timer = timer;
    this.clock.sleep(wakeMs - this.clock.now(), timer.signal).then(
      () => this.#wake(),
      () => {}, // stopped: another timer runs, or none is needed
    );
  }

  /** The call that the timer was set for may be over long since: then it is only set anew. */
  #wake(): void {
    const nowMs = this.clock.now();
    let nextMs = Number.POSITIVE_INFINITY;
    const due: Waiter[] = [];
    for (const waiter of this.#waiters) {
      if (waiter.deadlineMs <= nowMs) due.push(waiter);
      else nextMs = Math.min(nextMs, waiter.deadlineMs);
    }
    this.#stop();
    for (const waiter of due) {
      this.#waiters.delete(waiter);
      waiter.giveUp();
    }
    if (nextMs < this.#wakeMs && this.#waiters.size > 0) this.#sleepUntil(nextMs);
  }
}

/** Why a timer ends that nobody needs any more. Given, as an error that Node makes itself costs a stack each time. */
const OVER = new Error("the call is over");

/**
 * Who is told when a signal aborts: one listener on each signal, however many calls wait on it, as adding one costs half
 * as much as a call. It stays as long as the signal does, and holds nothing once the calls are over.
 */
export class AbortWatch {
  readonly #bySignal = new WeakMap<AbortSignal, Bag<() => void>>();

  add(signal: AbortSignal, giveUp: () => void): void {
    let waiting = this.#bySignal.get(signal);
    if (waiting === undefined) {
      const calls = new Bag<() => void>();
      waiting = calls;
      this.#bySignal.set(signal, calls);
      setMaxListeners(0, signal);
      signal.addEventListener(
        "abort",
        () => {
          for (const each of [...calls]) each();
        },
        { once: true },
      );
    }
    waiting.add(giveUp);
  }

  remove(signal: AbortSignal, giveUp: () => void): void {
    this.#bySignal.get(signal)?.delete(giveUp);
  }
}
