/** A chunk with more keys than this is split, so that an insertion moves at most this many. */
const MAX_CHUNK = 512;

/** Greater than every key with the same prefix: keys are ASCII. */
const AFTER_ALL = "\uffff";

/**
 * A sorted set of strings in chunks: insert, remove and seek cost a binary search and a move within one chunk, for any
 * number of keys. It replaces etcd's B-tree with a single level.
 */
export class SortedKeys {
  /** never empty, except for the single chunk of an empty set */
  readonly #chunks: string[][] = [[]];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The caller guarantees that `key` is not in the set. */
  add(key: string): void {
    const chunkIndex = this.#chunkFor(key);
    const chunk = this.#chunks[chunkIndex] as string[];
    chunk.splice(lowerBound(chunk, key), 0, key);
    this.#size++;
    if (chunk.length > MAX_CHUNK) this.#chunks.splice(chunkIndex + 1, 0, chunk.splice(chunk.length >> 1));
  }

  delete(key: string): void {
    const chunkIndex = this.#chunkFor(key);
    const chunk = this.#chunks[chunkIndex] as string[];
    const at = lowerBound(chunk, key);
    if (chunk[at] !== key) return;
    chunk.splice(at, 1);
    this.#size--;
    if (chunk.length === 0 && this.#chunks.length > 1) this.#chunks.splice(chunkIndex, 1);
  }

  /**
   * Returns at most `limit` keys that begin with `prefix` and are greater than `afterKey`.
   * @returns remaining: the number of matching keys after those
   */
  range(
    prefix: string,
    afterKey?: string,
    limit = Number.POSITIVE_INFINITY,
  ): { readonly keys: string[]; readonly remaining: number } {
    if (afterKey === undefined && limit === Number.POSITIVE_INFINITY) return { keys: this.#all(prefix), remaining: 0 };
    const isAfterStart = afterKey !== undefined && afterKey >= prefix;
    const from = isAfterStart ? this.#rank(afterKey, true) : this.#rank(prefix, false);
    const total = Math.max(0, this.#rank(prefix + AFTER_ALL, false) - from);
    const count = Math.min(limit, total);
    return { keys: this.#slice(from, count), remaining: total - count };
  }

  /** The chunk that contains `key`, or would contain it. */
  #chunkFor(key: string): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#chunks[middle]?.[0] ?? "") <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** How many keys are less than `key` (or equal to it, when `orEqual`). */
  #rank(key: string, orEqual: boolean): number {
    const chunkIndex = this.#chunkFor(key);
    let rank = 0;
    for (let i = 0; i < chunkIndex; i++) rank += this.#chunks[i]?.length ?? 0;
    const chunk = this.#chunks[chunkIndex] as string[];
    const at = lowerBound(chunk, key);
    return rank + at + (orEqual && chunk[at] === key ? 1 : 0);
  }

  #all(prefix: string): string[] {
    const keys: string[] = [];
    let chunkIndex = this.#chunkFor(prefix);
    let chunk = this.#chunks[chunkIndex];
    for (let at = lowerBound(chunk ?? [], prefix); chunk !== undefined; at = 0) {
      for (; at < chunk.length; at++) {
        const key = chunk[at] as string;
        if (!key.startsWith(prefix)) return keys;
        keys.push(key);
      }
      chunk = this.#chunks[++chunkIndex];
    }
    return keys;
  }

  #slice(from: number, count: number): string[] {
    const keys: string[] = [];
    let skip = from;
    for (const chunk of this.#chunks) {
      if (keys.length >= count) break;
      if (skip >= chunk.length) {
        skip -= chunk.length;
        continue;
      }
      for (const key of chunk.slice(skip, skip + count - keys.length)) keys.push(key);
      skip = 0;
    }
    return keys;
  }
}

/** The first index whose key is not less than `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
