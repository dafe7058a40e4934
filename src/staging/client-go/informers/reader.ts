/**
 * One reader's queue of changes: bounded, and an async iterator itself. It needs only one promise per item, because
 * every change in the cluster passes through one such queue per controller.
 */
export class Reader<T> implements AsyncIterableIterator<T> {
  readonly #items: T[] = [];
  readonly #capacity: number;
  readonly #onEnd: () => void;
  readonly #signal: AbortSignal;
  #head = 0;
  #waiting: { resolve(result: IteratorResult<T>): void; reject(error: unknown): void } | undefined;
  #ended: { readonly error: unknown } | "normally" | undefined;

  /**
   * @param capacity maximum backlog, in addition to the items pushed before the first read
   * @param signal an abort ends the stream at once, normally
   * @param onEnd called once, when the reader needs no more items
   */
  constructor(capacity: number, signal: AbortSignal, onEnd: () => void) {
    this.#capacity = capacity;
    this.#signal = signal;
    this.#onEnd = onEnd;
    if (signal.aborted) this.#end("normally");
    else signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  readonly #onAbort = (): void => {
    this.#items.length = 0;
    this.#head = 0;
    this.#end("normally");
  };

  /** @returns false if the queue is full; the caller must then `fail` the reader */
  push(item: T): boolean {
    if (this.#ended !== undefined) return true;
    const waiting = this.#waiting;
    if (waiting !== undefined) {
      this.#waiting = undefined;
      waiting.resolve({ value: item, done: false });
      return true;
    }
    if (this.#items.length - this.#head >= this.#capacity) return false;
    this.#items.push(item);
    return true;
  }

  /** Ends the stream with an error after the queued items. */
  fail(error: unknown): void {
    this.#end({ error });
  }

  #end(how: { readonly error: unknown } | "normally"): void {
    if (this.#ended !== undefined) return;
    this.#ended = how;
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#onEnd();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (how === "normally") waiting?.resolve({ value: undefined, done: true });
    else waiting?.reject(how.error);
  }

  next(): Promise<IteratorResult<T>> {
    const item = this.#shift();
    if (item !== undefined) return Promise.resolve({ value: item, done: false });
    if (this.#ended === "normally") return Promise.resolve({ value: undefined, done: true });
    if (this.#ended !== undefined) return Promise.reject(this.#ended.error);
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  #shift(): T | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head++;
    if (this.#head === this.#items.length) {
      this.#items.length = 0;
      this.#head = 0;
    }
    return item;
  }

  return(): Promise<IteratorResult<T>> {
    this.#onAbort();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
