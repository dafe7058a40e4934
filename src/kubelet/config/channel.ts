import { onAbort } from "../../util/async/abort.js";

/**
 * A bounded channel for one reader, as a Go channel with a buffer: the sender waits while it is full, so nothing is
 * lost.
 */
export class Channel<T> {
  readonly #items: T[] = [];
  #senders: (() => void)[] = [];
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
      const wake = () => {
        link[Symbol.dispose]();
        resolve();
      };
      this.#senders.push(wake);
      const link = onAbort(signal, () => {
        this.#senders = this.#senders.filter((one) => one !== wake);
        reject(signal.reason);
      });
    });
  }

  async #news(signal: AbortSignal): Promise<void> {
    let link: Disposable | undefined;
    await new Promise<void>((resolve) => {
      this.#reader = resolve;
      link = onAbort(signal, resolve);
    });
    link?.[Symbol.dispose]();
    this.#reader = undefined;
  }
}
