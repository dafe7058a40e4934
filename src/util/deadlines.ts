import { setMaxListeners } from "node:events";
import { Bag } from "./bag.js";
import type { Clock, Timer } from "./clock.js";

/** A call that waits; `giveUp` is called at most once. */
export interface Waiter {
  giveUp(): void;
  /** Unix ms on the clock; Infinity: it may wait for ever */
  readonly deadlineMs: number;
}

/**
 * The calls of a client that are under way, and their deadlines, watched by one timer: the kubelet's context.WithTimeout on
 * an injected clock. No timer runs while no call with a deadline is under way.
 */
export class Deadlines<W extends Waiter = Waiter> implements Iterable<W> {
  readonly #waiters = new Bag<W>();
  /** those with a deadline */
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

  /** In no particular order; whoever adds or removes meanwhile iterates over a copy. */
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

  /** The call that the timer was set for may be over long since: then it is only set anew. */
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
 * Tells calls when their signals abort: one listener on each signal, however many calls wait on it, as adding one costs half
 * as much as a call. It stays as long as the signal does, and holds nothing once the calls are over.
 */
export class AbortWatch {
  readonly #watched = new WeakSet<AbortSignal>();

  /** @param live the calls that are under way */
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
