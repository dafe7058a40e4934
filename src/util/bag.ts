/**
 * A set for what comes and goes all the time, and of which there are few at once: calls under way, streams of a connection.
 *
 * A Set or Map copies itself after so many additions, and V8 leaves in the old copy a link to the new one. Once one copy
 * has grown old, the chain of them keeps everything alive that was in any of them, until a full collection: some fifty MB
 * after ten thousand calls. An array has no such past. Finding an item looks at all of them.
 */
export class Bag<T> implements Iterable<T> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** @param item not in it yet */
  add(item: T): void {
    this.#items.push(item);
  }

  /** @returns whether it was there */
  delete(item: T): boolean {
    return removeAt(this.#items, this.#items.indexOf(item));
  }

  /** In no particular order; whoever adds or deletes meanwhile iterates over a copy. */
  [Symbol.iterator](): ArrayIterator<T> {
    return this.#items.values();
  }
}

/** A Bag of things that are found by a number. */
export class NumberedBag<T> {
  readonly #numbers: number[] = [];
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** @param number not in it yet */
  set(number: number, item: T): void {
    this.#numbers.push(number);
    this.#items.push(item);
  }

  get(number: number): T | undefined {
    const at = this.#numbers.indexOf(number);
    return at < 0 ? undefined : this.#items[at];
  }

  has(number: number): boolean {
    return this.#numbers.includes(number);
  }

  /** @returns whether it was there */
  delete(number: number): boolean {
    const at = this.#numbers.indexOf(number);
    removeAt(this.#numbers, at);
    return removeAt(this.#items, at);
  }

  /** In no particular order; whoever sets or deletes meanwhile iterates over a copy. */
  values(): ArrayIterator<T> {
    return this.#items.values();
  }
}

/** The last one takes its place. */
function removeAt<T>(items: T[], at: number): boolean {
  if (at < 0) return false;
  const last = items.pop();
  if (at < items.length && last !== undefined) items[at] = last;
  return true;
}
