import { BrokenPipeError, type ByteSink, type ByteSource } from "../streams.js";
import type { MemoryAccount } from "./memory-account.js";
import { Waiters } from "./waiters.js";

/** As in Linux's pipes: a writer waits above this many unread bytes. */
const CAPACITY_BYTES = 65_536;

/** A pipe: bytes written to one end are read at the other. Each end starts with one holder. */
export class Pipe {
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #writers = 1;
  #readers = 1;
  readonly #waiters = new Waiters();
  readonly reader: ByteSource;
  readonly writer: ByteSink;

  #isEnded = false;

  /**
   * @param memory of the container that writes; it holds the unread bytes
   * @param onEnd called once, when either end has no holder left
   */
  constructor(
    readonly memory?: MemoryAccount,
    readonly onEnd?: () => void,
  ) {
    this.reader = {
      read: (signal, max) => this.#read(signal, max),
      unread: (bytes) => {
        this.memory?.hold(bytes.length);
        this.#chunks.unshift(bytes);
        this.#size += bytes.length;
      },
      retain: () => {
        this.#readers++;
      },
      release: () => {
        this.#readers--;
        if (this.#readers > 0) return;
        this.discard();
        this.#end();
      },
    };
    this.writer = {
      write: (bytes, signal) => this.#write(bytes, signal),
      retain: () => {
        this.#writers++;
      },
      release: () => {
        this.#writers--;
        if (this.#writers > 0) return;
        this.#waiters.wake();
        this.#end();
      },
    };
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.onEnd?.();
  }

  /** the unread bytes */
  get size(): number {
    return this.#size;
  }

  /** Writers must wait now. */
  get isFull(): boolean {
    return this.#size >= CAPACITY_BYTES;
  }

  /** Drops unread bytes, and wakes those that wait. */
  discard(): void {
    this.memory?.release(this.#size);
    this.#chunks.length = 0;
    this.#size = 0;
    this.#waiters.wake();
  }

  async #read(signal: AbortSignal, max = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
    for (;;) {
      if (signal.aborted) throw signal.reason;
      const first = this.#next(max);
      if (first !== undefined) {
        const taken = first.length > max ? first.subarray(0, max) : first;
        if (taken.length < first.length) this.#chunks.unshift(first.subarray(taken.length));
        this.#size -= taken.length;
        this.memory?.release(taken.length);
        this.#waiters.wake();
        return taken;
      }
      if (this.#writers === 0) return undefined;
      await this.#waiters.change(signal);
    }
  }

  /** The oldest piece; small pieces are joined, as one read of a kernel's pipe returns them. */
  #next(max: number): Buffer | undefined {
    const first = this.#chunks.shift();
    const second = this.#chunks[0];
    if (first === undefined || second === undefined) return first;
    const limit = Math.min(max, CAPACITY_BYTES);
    if (first.length + second.length > limit) return first;
    const parts = [first];
    let length = first.length;
    for (let next = second as Buffer | undefined; next !== undefined; next = this.#chunks[0]) {
      if (length + next.length > limit) break;
      length += next.length;
      parts.push(next);
      this.#chunks.shift();
    }
    return Buffer.concat(parts, length);
  }

  #write(bytes: Uint8Array, signal: AbortSignal): Promise<void> | void {
    if (this.#readers === 0) throw new BrokenPipeError();
    if (bytes.length > 0) {
      this.memory?.hold(bytes.length);
      this.#chunks.push(Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
      this.#size += bytes.length;
      this.#waiters.wake();
    }
    if (this.#size >= CAPACITY_BYTES) return this.#room(signal);
  }

  async #room(signal: AbortSignal): Promise<void> {
    while (this.#size >= CAPACITY_BYTES) {
      if (this.#readers === 0) throw new BrokenPipeError();
      await this.#waiters.change(signal);
    }
  }
}
