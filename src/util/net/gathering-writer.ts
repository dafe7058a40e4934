import type { Duplex } from "node:stream";

/**
 * Small writes up to this size are copied into one buffer, because a stream takes one large piece faster than many
 * small ones.
 */
const COPIED_BYTES = 16 * 1024;

/** Collects everything that is written to a socket in one turn of the event loop, and sends it in one system call. */
export class GatheringWriter {
  #pieces: Uint8Array[] = [];
  #byteCount = 0;
  #isSoon = false;

  constructor(readonly socket: Duplex) {}

  /** The bytes that the system has not accepted yet. */
  get waitingBytes(): number {
    return this.#byteCount + this.socket.writableLength;
  }

  write(bytes: Uint8Array): void {
    this.#pieces.push(bytes);
    this.#byteCount += bytes.length;
    if (this.#isSoon) return;
    this.#isSoon = true;
    process.nextTick(this.#onTick);
  }

  readonly #onTick = (): void => {
    this.#isSoon = false;
    this.flush();
  };

  /** Sends the collected bytes now. */
  flush(): void {
    if (this.#byteCount === 0) return;
    const { socket } = this;
    const [pieces, byteCount] = [this.#pieces, this.#byteCount];
    this.#pieces = [];
    this.#byteCount = 0;
    if (!socket.writable) return;
    if (byteCount <= COPIED_BYTES) {
      socket.write(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces, byteCount));
      return;
    }
    socket.cork();
    for (const piece of pieces) socket.write(piece);
    socket.uncork();
  }
}
