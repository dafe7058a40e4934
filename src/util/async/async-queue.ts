/**
 * A queue that one side pushes to and the other iterates: it turns callbacks into an AsyncIterable.
 *
 * Bounded: `push` returns false once `capacity` items wait, or once their total weight is too high, and the producer
 * decides what to do (a watch is disconnected, a channel drops the item). After `close` the reader still gets the
 * waiting items; `fail` ends it with an error.
 */
export class AsyncQueue<T> implements AsyncIterable<T> {
  #items: T[] = [];
  #weights: number[] = [];
  #weight = 0;
  #wake: (() => void) | undefined;
  #closed = false;
  #error: unknown;

  constructor(
    readonly capacity = Number.POSITIVE_INFINITY,
    readonly maxWeight = Number.POSITIVE_INFINITY,
  ) {}

  get size(): number {
    return this.#items.length;
  }

  /**
   * @param weight in any unit; an empty queue accepts an item of any weight
   * @returns false if the item was not added, because the queue is full or closed
   */
  push(item: T, weight = 0): boolean {
    if (this.#closed || this.#items.length >= this.capacity) return false;
    if (this.#items.length > 0 && this.#weight + weight > this.maxWeight) return false;
    this.#items.push(item);
    this.#weights.push(weight);
    this.#weight += weight;
    this.#wakeReader();
    return true;
  }

  /** Takes the waiting items, without waiting for more. */
  takeAll(): T[] {
    const items = this.#items;
    this.#items = [];
    this.#weights = [];
    this.#weight = 0;
    return items;
  }

  close(): void {
    this.#closed = true;
    this.#wakeReader();
  }

  fail(error: unknown): void {
    this.#error ??= error;
    this.close();
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** Ends (normally) when the queue is closed and empty, or when `signal` aborts. One reader at a time. */
  async *iterate(signal?: AbortSignal): AsyncGenerator<T> {
    const onAbort = () => this.close();
    if (signal?.aborted) return;
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      for (;;) {
        if (signal?.aborted) return;
        const item = this.#items.shift();
        if (item !== undefined) {
          this.#weight -= this.#weights.shift() ?? 0;
          yield item;
          continue;
        }
        if (this.#error !== undefined) throw this.#error;
        if (this.#closed) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      signal?.removeEventListener("abort", onAbort);
      this.close();
    }
  }

  [Symbol.asyncIterator](): AsyncGenerator<T> {
    return this.iterate();
  }
}
