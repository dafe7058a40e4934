const DIGITS = "123456789";

/** Something that can have a number. */
interface Numbered {
  readonly id: string;
}

/**
 * Gives things the digits that choose them. A thing keeps its digit for its life, and the digit of what is gone goes to
 * another only when all others have been used: a key means what was read a moment before, or nothing.
 */
export class KeyNumbers<T extends Numbered> {
  readonly #thingOf = new Map<string, T>();
  /** those that wait longest come first */
  readonly #free = [...DIGITS];

  /** Takes the digits of what is not there any more, and gives digits to what has none. @returns who got one now */
  assign(things: readonly T[]): readonly T[] {
    const ids = new Set(things.map(({ id }) => id));
    for (const [digit, { id }] of this.#thingOf) {
      if (ids.has(id)) continue;
      this.#thingOf.delete(digit);
      this.#free.push(digit);
    }
    const without = things.filter(({ id }) => this.digitOf(id) === undefined);
    return without.filter((thing) => {
      const digit = this.#free.shift();
      if (digit !== undefined) this.#thingOf.set(digit, thing);
      return digit !== undefined;
    });
  }

  /** @returns undefined: more things than digits */
  digitOf(id: string): string | undefined {
    for (const [digit, thing] of this.#thingOf) if (thing.id === id) return digit;
    return undefined;
  }

  /** What had this digit when digits were given last: it may be gone since. */
  thingOf(digit: string): T | undefined {
    return this.#thingOf.get(digit);
  }
}
