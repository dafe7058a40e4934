/**
 * A small set whose items come and go all the time: running calls, streams of a connection.
 *
 * A Set or Map copies itself after some additions, and V8 keeps a link from the old copy to the new one. Once one copy
 * is in the old generation, the chain keeps every former item alive until a full collection: some 50 MB after ten
 * thousand calls. An array has no such chain. Finding an item takes linear time.
 */
export class SmallSet<T> implements Iterable<T> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** @param item must not be in the set yet */
  add(item: T): void {
    this.#items.push(item);
  }

  /** @returns whether it was in the set */
  delete(item: T): boolean {
    return removeAt(this.#items, this.#items.indexOf(item));
  }

  /** In no particular order. Callers that add or delete meanwhile must iterate over a copy. */
  [Symbol.iterator](): ArrayIterator<T> {
    return this.#items.values();
  }
}

/** The same for items that are found by a number. */
export class SmallMap<T> {
  readonly #numbers: number[] = [];
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** @param number must not be in use yet */
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

  /** @returns whether it was in use */
  delete(number: number): boolean {
    const at = this.#numbers.indexOf(number);
    removeAt(this.#numbers, at);
    return removeAt(this.#items, at);
  }

  /** In no particular order. Callers that set or delete meanwhile must iterate over a copy. */
  values(): ArrayIterator<T> {
    return this.#items.values();
  }
}

/** The last item takes its place. */
function removeAt<T>(items: T[], at: number): boolean {
  if (at < 0) return false;
  const last = items.pop();
  if (at < items.length && last !== undefined) items[at] = last;
  return true;
}
