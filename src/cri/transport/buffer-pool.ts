/** Messages below this size come and go with the garbage collector, which is made for them. */
const MIN_POOLED_BYTES = 64 * 1024;
/** A relist has two large lists in flight, and remembers the two before. */
const MAX_POOLED = 4;

/**
 * Buffers for large messages, used again: a relist of thousands of pods takes some ten megabytes every second, and what
 * the garbage collector lets lie of them would be most of the process.
 */
export class BufferPool {
  readonly #free: Buffer[] = [];

  /** A buffer of exactly this length; what is in it is anybody's guess. */
  take(length: number): Buffer {
    if (length < MIN_POOLED_BYTES) return Buffer.allocUnsafe(length);
    const index = this.#free.findIndex(({ buffer }) => buffer.byteLength >= length && buffer.byteLength <= length * 2);
    const [found] = index < 0 ? [] : this.#free.splice(index, 1);
    // A little larger than asked for, so that it will do when one more container is in the list.
    return Buffer.from(found?.buffer ?? new ArrayBuffer(length + (length >> 3)), 0, length);
  }

  /** Nobody looks at these bytes any more. */
  give(bytes: Buffer): void {
    if (bytes.length < MIN_POOLED_BYTES) return;
    if (this.#free.length === MAX_POOLED) this.#free.shift();
    this.#free.push(bytes);
  }
}
