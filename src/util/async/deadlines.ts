import { setMaxListeners } from "node:events";
import type { Clock } from "../clock.js";
import { SmallSet } from "../collections/small-set.js";
import type { Timer } from "../timer.js";

/** A waiting call; `giveUp` is called at most once. */
export interface Waiter {
  giveUp(): void;
  /** Unix ms on the clock; Infinity: no deadline */
  readonly deadlineMs: number;
}

/**
 * The running calls of a client and their deadlines, watched by one timer: the kubelet's context.WithTimeout on an
 * injected clock. The timer only runs while there is a call with a deadline.
 */
export class Deadlines<W extends Waiter = Waiter> implements Iterable<W> {
  readonly #waiters = new SmallSet<W>();
  /** calls with a deadline */
  #limited = 0;
  #wakeMs = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(readonly clock: Clock) {}

  add(waiter: W): void {
    this.#waiters.add(waiter);
    if (waiter.deadlineMs === Number.POSITIVE_INFINITY) return;
    this.#limited++;
    if (waiter.deadlineMs < this.#wakeMs) this.#sleepUntil(waiter.deadlineMs);
  }

  remove(waiter: W): void {
    if (!this.#waiters.delete(waiter) || waiter.deadlineMs === Number.POSITIVE_INFINITY) return;
    if (--this.#limited === 0) this.#stop();
  }

  /** In no particular order. Callers that add or remove meanwhile must iterate over a copy. */
  [Symbol.iterator](): ArrayIterator<W> {
    return this.#waiters[Symbol.iterator]();
  }

  #stop(): void {
    this.#timer?.stop();
    this.#timer = undefined;
    this.#wakeMs = Number.POSITIVE_INFINITY;
  }

  #sleepUntil(wakeMs: number): void {
    this.#stop();
    this.#wakeMs = wakeMs;
    this.#timer = this.clock.timer(wakeMs - this.clock.now(), () => this.#wake());
  }

  /** The call that the timer was set for may have ended long ago; then the timer is only reset. */
  #wake(): void {
    const nowMs = this.clock.now();
    let nextMs = Number.POSITIVE_INFINITY;
    const due: W[] = [];
    for (const waiter of this.#waiters) {
      if (waiter.deadlineMs <= nowMs) due.push(waiter);
      else nextMs = Math.min(nextMs, waiter.deadlineMs);
    }
    this.#stop();
    for (const waiter of due) {
      this.remove(waiter);
      waiter.giveUp();
    }
    if (nextMs < this.#wakeMs && this.#limited > 0) this.#sleepUntil(nextMs);
  }
}

/** A call that ends when its signal aborts. */
export interface Abortable {
  readonly signal: AbortSignal | undefined;
  aborted(): void;
}

/**
 * Notifies calls when their signals abort. Each signal has one listener, however many calls wait on it, because adding
 * a listener costs half as much as a call. The listener stays as long as the signal and holds no finished calls.
 */
export class AbortWatch {
  readonly #watched = new WeakSet<AbortSignal>();

  /** @param live the running calls */
  constructor(readonly live: Iterable<Abortable>) {}

  watch(signal: AbortSignal): void {
    if (this.#watched.has(signal)) return;
    this.#watched.add(signal);
    setMaxListeners(0, signal);
    const onAbort = () => {
      for (const call of [...this.live]) if (call.signal === signal) call.aborted();
    };
    signal.addEventListener("abort", onAbort, { once: true });
  }
}
