import type { Random } from "../../../util/random.js";

/** Random choices. */
export class Pick {
  constructor(readonly random: Random) {}

  /** A whole number from `least` to `most`. */
  number(least: number, most: number): number {
    return least + Math.floor(this.random.float() * (most - least + 1));
  }

  /** Whether something happens that does with this chance, from 0 to 1. */
  chance(part: number): boolean {
    return this.random.float() < part;
  }

  one<T>(all: readonly [T, ...T[]]): T {
    return all[this.number(0, all.length - 1)] ?? all[0];
  }

  /** `count` of them, in their order. */
  some<T>(all: readonly T[], count: number): readonly T[] {
    const left = new Set(all);
    while (left.size > count) left.delete([...left][this.number(0, left.size - 1)] as T);
    return all.filter((one) => left.has(one));
  }
}
