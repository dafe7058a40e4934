import type { Random } from "../../../../../util/random.js";

/**
 * The allocated numbers of a range, by their offset from its start.
 *
 * Mirrors pkg/registry/core/service/allocator/bitmap.go (AllocationBitmap, randomScanStrategyWithOffset).
 * Differs: a set, which stays small while most of a range is free.
 */
export class AllocationBitmap {
  readonly #used = new Set<number>();

  /**
   * @param max how many numbers the range has
   * @param reserved the first numbers, which are allocated only when all others are in use: a client that requests a certain one
   * finds it free
   */
  constructor(
    readonly max: number,
    readonly reserved: number,
    readonly random: Random,
  ) {}

  get used(): number {
    return this.#used.size;
  }

  has(offset: number): boolean {
    return this.#used.has(offset);
  }

  /** @returns whether it was free */
  allocate(offset: number): boolean {
    if (this.#used.has(offset)) return false;
    this.#used.add(offset);
    return true;
  }

  /** @returns undefined when the range is full */
  allocateNext(): number | undefined {
    if (this.#used.size >= this.max) return undefined;
    const offset = this.#scan(this.reserved, this.max - this.reserved) ?? this.#scan(0, this.reserved);
    if (offset !== undefined) this.#used.add(offset);
    return offset;
  }

  /** The first free number from a random start, around the end of `size` numbers. */
  #scan(base: number, size: number): number | undefined {
    const start = Math.floor(this.random.float() * size);
    for (let i = 0; i < size; i++) {
      const at = base + ((start + i) % size);
      if (!this.#used.has(at)) return at;
    }
    return undefined;
  }

  release(offset: number): void {
    this.#used.delete(offset);
  }
}
