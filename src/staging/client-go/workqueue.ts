import { currentScope, runInScope, type Scope } from "../../trace/scope.js";
import { Waker } from "../../util/async/waker.js";
import type { Clock } from "../../util/clock.js";
import { Heap } from "../../util/collections/heap.js";

/** Delay of the first retry of a key, doubled with each further one. */
const BASE_DELAY_MS = 5;
const MAX_DELAY_MS = 1_000_000;

/** The number of keys after which the queue yields to sockets and timers of the process. */
const KEYS_PER_TURN = 64;

export interface WorkQueueOptions {
  /** the delay of a key's first retry; default 5 ms */
  readonly baseDelayMs?: number;
  /** default 1000 s */
  readonly maxDelayMs?: number;
  /** A key that fails more often in a row is dropped until it is added again. Default: no limit. */
  readonly maxRetries?: number;
}

interface Delayed {
  readonly key: string;
  /** when the key becomes ready, Unix ms */
  readonly atMs: number;
  /** breaks ties in the order of arrival */
  readonly order: number;
  readonly scope: Scope | undefined;
}

/** With fewer entries, a search for cancelled ones does not pay. */
const MIN_HEAP = 64;

/**
 * A queue of keys to process. A key is queued at most once however often it is added; a key that is added while it is
 * processed is processed once more afterwards.
 *
 * Mirrors k8s.io/client-go/util/workqueue (Type, delayingType, ItemExponentialFailureRateLimiter).
 * Differs: one worker, so that the order is the same in every run; no overall 10/s bucket of retries.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #options: Required<WorkQueueOptions>;
  readonly #waker = new Waker();
  /** key -> the cause of its first addition */
  readonly #ready = new Map<string, Scope | undefined>();
  readonly #delayed = new Map<string, Delayed>();
  /** the entries of #delayed, and outdated ones: cancelled or made earlier; mirrors waitForPriorityQueue */
  #waiting = new Heap<Delayed>(isEarlier);
  #order = 0;
  readonly #failures = new Map<string, number>();

  constructor(clock: Clock, options: WorkQueueOptions = {}) {
    this.#clock = clock;
    this.#options = { baseDelayMs: BASE_DELAY_MS, maxDelayMs: MAX_DELAY_MS, maxRetries: Infinity, ...options };
  }

  add(key: string): void {
    this.#makeReady(key, currentScope());
    this.#waker.wake();
  }

  /** If the key is already waiting, the earlier time wins. */
  addAfter(key: string, delayMs: number): void {
    if (delayMs <= 0) this.add(key);
    else this.#addAt(key, this.#clock.now() + delayMs);
  }

  #makeReady(key: string, scope: Scope | undefined): void {
    if (!this.#ready.has(key)) this.#ready.set(key, scope);
  }

  #addAt(key: string, atMs: number): void {
    const waiting = this.#delayed.get(key);
    if (waiting !== undefined && waiting.atMs <= atMs) return;
    const delayed = { key, atMs, order: this.#order++, scope: currentScope() };
    this.#delayed.set(key, delayed);
    this.#waiting.push(delayed);
    if (this.#waiting.size > MIN_HEAP + 2 * this.#delayed.size) this.#dropCancelled();
    // Timers for the others already run.
    if (this.#waiting.peek() === delayed) this.#waker.wake();
  }

  #dropCancelled(): void {
    this.#waiting = new Heap(isEarlier);
    for (const delayed of this.#delayed.values()) this.#waiting.push(delayed);
  }

  /** Adds a key again after a failure: by default in 5 ms, 10 ms, 20 ms, ... up to 1000 s. */
  addRateLimited(key: string): void {
    const delayMs = this.retryDelayMs(key);
    this.#failures.set(key, this.numRequeues(key) + 1);
    this.addAfter(key, delayMs);
  }

  /** The delay after the next failure of the key. */
  retryDelayMs(key: string): number {
    const { baseDelayMs, maxDelayMs } = this.#options;
    return Math.min(baseDelayMs * 2 ** this.numRequeues(key), maxDelayMs);
  }

  /** How often the key has failed since its last success. */
  numRequeues(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The key succeeded: its next failure starts with the first delay again. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Removes a key that waits for its time. */
  cancel(key: string): void {
    this.#delayed.delete(key);
    this.#ready.delete(key);
  }

  /**
   * Hands out keys one after another until `signal` aborts.
   *
   * @param handle a rejection puts the key back, rate-limited, after `onError` has seen it and its failures in a row before
   * @throws the signal's reason
   */
  async run(
    handle: (key: string) => Promise<void>,
    onError: (key: string, error: unknown, failures: number) => void,
    signal: AbortSignal,
  ): Promise<never> {
    let handled = 0;
    for (;;) {
      signal.throwIfAborted();
      const next = this.#take();
      if (next === undefined) {
        await this.#waker.wait(this.#clock, this.#nextMs(), signal);
        continue;
      }
      // Work that never waits for a socket would block the servers of this process.
      if (++handled % KEYS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
      const [key, scope] = next;
      try {
        await runInScope(scope, () => handle(key));
        this.forget(key);
      } catch (error) {
        signal.throwIfAborted();
        runInScope(scope, () => {
          onError(key, error, this.numRequeues(key));
          if ((this.#failures.get(key) ?? 0) < this.#options.maxRetries) this.addRateLimited(key);
          else this.forget(key);
        });
      }
    }
  }

  #take(): readonly [key: string, scope: Scope | undefined] | undefined {
    const nowMs = this.#clock.now();
    for (let first = this.#firstDelayed(); first !== undefined; first = this.#firstDelayed()) {
      if (first.atMs > nowMs) break;
      this.#delayed.delete(first.key);
      this.#makeReady(first.key, first.scope);
    }
    for (const next of this.#ready) {
      this.#ready.delete(next[0]);
      return next;
    }
    return undefined;
  }

  #firstDelayed(): Delayed | undefined {
    for (;;) {
      const first = this.#waiting.peek();
      if (first === undefined || this.#delayed.get(first.key) === first) return first;
      this.#waiting.pop();
    }
  }

  #nextMs(): number | undefined {
    return this.#firstDelayed()?.atMs;
  }
}

function isEarlier(a: Delayed, b: Delayed): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
