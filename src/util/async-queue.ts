/**
 * A queue that one side pushes to and the other iterates: how callbacks become an AsyncIterable.
 *
 * Bounded: `push` returns false once `capacity` items wait, and the pushing side decides what that means (a watch is cut
 * off, a channel drops). `close` lets the reader finish what waits; `fail` ends it with an error.
 */
export class AsyncQueue<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  #wake: (() => void) | undefined;
  #closed = false;
  #error: unknown;

  constructor(readonly capacity = Number.POSITIVE_INFINITY) {}

  get size(): number {
    return this.#items.length;
  }

  /** @returns false when the item was not taken: the queue is full or closed */
  push(item: T): boolean {
    if (this.#closed || this.#items.length >= this.capacity) return false;
    this.#items.push(item);
    this.#wakeReader();
    return true;
  }

  /** Takes what waits, without waiting for more. */
  takeAll(): T[] {
    return this.#items.splice(0);
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

  /** Ends (normally) when the queue was closed and is empty, or when `signal` aborts. One reader at a time. */
  async *iterate(signal?: AbortSignal): AsyncGenerator<T> {
    const onAbort = () => this.close();
    if (signal?.aborted) return;
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      for (;;) {
        if (signal?.aborted) return;
        const item = this.#items.shift();
        if (item !== undefined) {
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
