import type { ByteReader, StreamError } from "./bytes.js";

/** Whoever waits for the next piece. */
interface Waiting {
  resolve(result: IteratorResult<Uint8Array>): void;
  reject(error: unknown): void;
}

/**
 * Bytes between a connection that brings them and whoever reads them.
 *
 * It takes whatever it is given: the connection looks at `waitingBytes` and stops reading when there are too many, and is
 * told by `onTaken` when it may go on.
 */
export class ByteQueue implements ByteReader {
  #pieces: Uint8Array[] = [];
  #waitingBytes = 0;
  #isOver = false;
  #isUnwanted = false;
  #error: StreamError | undefined;
  #reader: Waiting | undefined;

  /** @param onTaken called with the count of bytes that do not wait any more */
  constructor(readonly onTaken: (byteCount: number) => void) {}

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  push(bytes: Uint8Array): void {
    if (this.#isOver || this.#isUnwanted || bytes.length === 0) return;
    const reader = this.#reader;
    if (reader !== undefined) {
      this.#reader = undefined;
      reader.resolve({ done: false, value: bytes });
    } else {
      this.#pieces.push(bytes);
      this.#waitingBytes += bytes.length;
    }
  }

  /** No more will come; what waits can still be read. */
  end(): void {
    this.#isOver = true;
    this.#wakeReader();
  }

  /** Ends with an error, after what waits was read. */
  fail(error: StreamError): void {
    if (this.#isOver) return;
    this.#error = error;
    this.end();
  }

  /** Throws away what waits and what still comes. */
  discard(): void {
    this.#isUnwanted = true;
    this.#pieces = [];
    const byteCount = this.#waitingBytes;
    this.#waitingBytes = 0;
    if (byteCount > 0) this.onTaken(byteCount);
  }

  #wakeReader(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader === undefined) return;
    const error = this.#takeError();
    if (error === undefined) reader.resolve({ done: true, value: undefined });
    else reader.reject(error);
  }

  #takeError(): StreamError | undefined {
    const error = this.#error;
    this.#error = undefined;
    return error;
  }

  #next(): Promise<IteratorResult<Uint8Array>> {
    const piece = this.#pieces.shift();
    if (piece !== undefined) {
      this.#waitingBytes -= piece.length;
      this.onTaken(piece.length);
      return Promise.resolve({ done: false, value: piece });
    }
    const error = this.#takeError();
    if (error !== undefined) return Promise.reject(error);
    if (this.#isOver || this.#isUnwanted) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }

  /** One reader at a time. Leaving the loop early means that nothing more is wanted. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => this.#next(),
      return: () => {
        this.discard();
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }
}
