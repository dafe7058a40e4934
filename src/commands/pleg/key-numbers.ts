const DIGITS = "123456789";

interface Numbered {
  readonly id: string;
}

/**
 * Assigns digits to containers and sandboxes. Each keeps its digit, and a freed digit is reused last, so that a key never
 * selects something other than what the user has just read.
 */
export class KeyNumbers<T extends Numbered> {
  readonly #thingOf = new Map<string, T>();
  /** the longest unused first */
  readonly #free = [...DIGITS];

  /** Frees the digits of removed things and assigns digits to new ones. @returns those with a new digit */
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

  /** @returns undefined if there are more things than digits */
  digitOf(id: string): string | undefined {
    for (const [digit, thing] of this.#thingOf) if (thing.id === id) return digit;
    return undefined;
  }

  /** The last thing with this digit. It may be gone. */
  thingOf(digit: string): T | undefined {
    return this.#thingOf.get(digit);
  }
}
