/**
 * A bounded channel for one reader, as a Go channel with a buffer: the sender waits while it is full, so nothing is
 * lost.
 */
export class Channel<T> {
  readonly #items: T[] = [];
  readonly #senders: (() => void)[] = [];
  #reader: (() => void) | undefined;

  constructor(readonly capacity: number) {}

  get size(): number {
    return this.#items.length;
  }

  /** @throws the signal's reason if it aborts before there is room */
  async send(item: T, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    while (this.#items.length >= this.capacity) await this.#room(signal);
    this.#items.push(item);
    this.#reader?.();
  }

  /** Ends (normally) when `signal` aborts. */
  async *receive(signal: AbortSignal): AsyncGenerator<T> {
    while (!signal.aborted) {
      const item = this.#items.shift();
      if (item === undefined) {
        await this.#news(signal);
        continue;
      }
      this.#senders.shift()?.();
      yield item;
    }
  }

  #room(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        const i = this.#senders.indexOf(wake);
        if (i >= 0) this.#senders.splice(i, 1);
        reject(signal.reason);
      };
      const wake = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      this.#senders.push(wake);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#reader = undefined;
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#reader = wake;
      signal.addEventListener("abort", wake, { once: true });
    });
  }
}
