import { SeededRandom } from "../../../support/fake-clock.js";

/** Decisions that a seed repeats. */
export class Chance {
  readonly #random: SeededRandom;

  constructor(readonly seed: number) {
    this.#random = new SeededRandom(seed);
  }

  /** @returns 0 to `count` - 1 */
  below(count: number): number {
    return Math.floor(this.#random.float() * count);
  }

  happens(probability: number): boolean {
    return this.#random.float() < probability;
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length)];
  }

  shuffle<T>(list: readonly T[]): T[] {
    return list
      .map((one) => ({ one, order: this.#random.float() }))
      .sort((a, b) => a.order - b.order)
      .map(({ one }) => one);
  }
}
