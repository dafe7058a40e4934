import type { ByteReader } from "../bytes.js";

/** How an Inbox makes its connection stop and resume reading. */
export interface InboxOwner {
  /**
   * Bytes were read or dropped.
   *
   * @param freed the memory that they took here
   */
  taken(inbox: Inbox, bytes: number, freed: number): void;
}

/** The overhead of a piece, so that a flood of tiny frames is limited as well. */
const PIECE_OVERHEAD_BYTES = 128;

const END: IteratorResult<Uint8Array> = { done: true, value: undefined };

/** The received but unread bytes of one stream. It accepts all bytes; its owner stops reading in time. */
export class Inbox implements ByteReader {
  #pieces: Uint8Array[] = [];
  #weight = 0;
  #state: "open" | "ended" | "unwanted" = "open";
  #error: Error | undefined;
  #waiting: { resolve(result: IteratorResult<Uint8Array>): void; reject(error: Error): void } | undefined;

  constructor(readonly owner: InboxOwner) {}

  /** The approximate memory of the waiting bytes. */
  get weight(): number {
    return this.#weight;
  }

  /** @returns the approximate memory that the piece takes */
  push(piece: Uint8Array): number {
    if (piece.length === 0 || this.#state === "ended") return 0;
    if (this.#state === "unwanted") {
      this.owner.taken(this, piece.length, 0);
      return 0;
    }
    const waiting = this.#waiting;
    if (waiting !== undefined) {
      this.#waiting = undefined;
      this.owner.taken(this, piece.length, 0);
      waiting.resolve({ done: false, value: piece });
      return 0;
    }
    // A small view would keep its whole chunk: one byte could hold 64 KiB.
    const isMostOfItsChunk = piece.length * 2 >= piece.buffer.byteLength;
    // Not `piece.slice()`, which is a view for a Buffer.
    this.#pieces.push(isMostOfItsChunk ? piece : Uint8Array.prototype.slice.call(piece));
    const weight = piece.length + PIECE_OVERHEAD_BYTES;
    this.#weight += weight;
    return weight;
  }

  /** No more bytes will come: the reader ends after the waiting ones. */
  end(): void {
    if (this.#state === "open") this.#state = "ended";
    this.#waiting?.resolve(END);
    this.#waiting = undefined;
  }

  /** As `end`, but the reader then throws `error`. */
  fail(error: Error): void {
    if (this.#state !== "open") return;
    this.#state = "ended";
    this.#error = error;
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return { next: () => this.#next(), return: () => Promise.resolve(this.drop()) };
  }

  #next(): Promise<IteratorResult<Uint8Array>> {
    const piece = this.#pieces.shift();
    if (piece !== undefined) {
      const weight = piece.length + PIECE_OVERHEAD_BYTES;
      this.#weight -= weight;
      this.owner.taken(this, piece.length, weight);
      return Promise.resolve({ done: false, value: piece });
    }
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#state !== "open") return Promise.resolve(END);
    if (this.#waiting !== undefined) return Promise.reject(new Error("a stream has one reader at a time"));
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  /** Drops all bytes, now and later. */
  drop(): IteratorResult<Uint8Array> {
    const bytes = this.#pieces.reduce((sum, piece) => sum + piece.length, 0);
    const freed = this.#weight;
    this.#pieces = [];
    this.#weight = 0;
    if (this.#state === "open") this.#state = "unwanted";
    this.#error = undefined;
    this.#waiting?.resolve(END);
    this.#waiting = undefined;
    this.owner.taken(this, bytes, freed);
    return END;
  }
}
