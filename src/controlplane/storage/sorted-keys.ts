/** How many keys a chunk holds before it is cut in two: inserting moves at most so many. */
const MAX_CHUNK = 512;

/** Greater than every key with the same beginning: keys are ASCII. */
const AFTER_ALL = "\uffff";

/**
 * Strings in order, cut into chunks: insert, remove and seek cost a binary search and the move of one chunk's tail,
 * however many keys there are. What a B-tree is to etcd, with one level.
 */
export class SortedKeys {
  /** none is empty, but for the only one of an empty set */
  readonly #chunks: string[][] = [[]];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The caller knows that `key` is not there yet. */
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
   * Keys that begin with `prefix` and are greater than `afterKey`, at most `limit` of them.
   * @returns remaining: how many more there are
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

  /** The chunk that holds `key`, or would. */
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
