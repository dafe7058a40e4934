import type { ByteReader, StreamError } from "./bytes.js";

/** A reader that waits for the next piece. */
interface Waiting {
  resolve(result: IteratorResult<Uint8Array>): void;
  reject(error: unknown): void;
}

/**
 * A queue of bytes between a connection and its reader.
 *
 * It accepts all bytes: the connection checks `waitingBytes`, stops reading above its limit, and resumes in `onTaken`.
 */
export class ByteQueue implements ByteReader {
  #pieces: Uint8Array[] = [];
  #waitingBytes = 0;
  #isOver = false;
  #isUnwanted = false;
  #error: StreamError | undefined;
  #reader: Waiting | undefined;

  /** @param onTaken called with the number of bytes that were consumed or dropped */
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

  /** No more bytes will come; the reader still gets the waiting ones. */
  end(): void {
    this.#isOver = true;
    this.#wakeReader();
  }

  /** Ends with an error, after the waiting bytes were read. */
  fail(error: StreamError): void {
    if (this.#isOver) return;
    this.#error = error;
    this.end();
  }

  /** Drops waiting and future bytes. */
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

  /** One reader at a time. Leaving the loop early drops the rest. */
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
