import type { Clock } from "../../util/clock.js";

interface Entry<T> {
  readonly value: T;
  /** ms of the clock */
  readonly expiresMs: number;
}

/** What was asked of somebody before, for a while. Who asks while the same question is under way gets its answer too. */
export class ExpiringCache<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #asking = new Map<string, Promise<T>>();

  /**
   * @param ttlMs how long an answer holds; 0: not at all
   * @param maxEntries beyond it the oldest goes
   */
  constructor(
    readonly clock: Clock,
    readonly ttlMs: (value: T) => number,
    readonly maxEntries = 8192,
  ) {}

  /** @returns what `ask` answered, now or before. @throws what `ask` throws, which is not kept */
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
