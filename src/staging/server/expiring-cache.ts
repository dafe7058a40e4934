import type { Clock } from "../../util/clock.js";

interface Entry<T> {
  readonly value: T;
  /** ms of the clock */
  readonly expiresMs: number;
}

/** Caches results for a while. Concurrent calls with the same key share one call of `ask`. */
export class ExpiringCache<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #asking = new Map<string, Promise<T>>();

  /**
   * @param ttlMs how long a result is kept; 0: not at all
   * @param maxEntries when exceeded, the oldest entry is dropped
   */
  constructor(
    readonly clock: Clock,
    readonly ttlMs: (value: T) => number,
    readonly maxEntries = 8192,
  ) {}

  /** @returns the cached result, or that of `ask`. @throws errors of `ask`, which are not cached */
  async get(key: string, ask: () => Promise<T>): Promise<{ readonly value: T; readonly isRemembered: boolean }> {
    const known = this.#entries.get(key);
    if (known !== undefined && known.expiresMs > this.clock.now()) return { value: known.value, isRemembered: true };
    const asking = this.#asking.get(key);
    if (asking !== undefined) return { value: await asking, isRemembered: true };
    const answer = ask();
    this.#asking.set(key, answer);
    try {
      const value = await answer;
      this.#keep(key, value);
      return { value, isRemembered: false };
    } finally {
      this.#asking.delete(key);
    }
  }

  #keep(key: string, value: T): void {
    const ttlMs = this.ttlMs(value);
    this.#entries.delete(key);
    if (ttlMs <= 0) return;
    this.#entries.set(key, { value, expiresMs: this.clock.now() + ttlMs });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.maxEntries && oldest !== undefined) this.#entries.delete(oldest);
  }
}
