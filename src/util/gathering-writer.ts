import type { Duplex } from "node:stream";

/** So much is copied into one buffer: a stream takes one large piece faster than many small ones. */
const COPIED_BYTES = 16 * 1024;

/** Writes to a socket so that what is written in one turn of the event loop goes out in one system call. */
export class GatheringWriter {
  #pieces: Uint8Array[] = [];
  #byteCount = 0;
  #isSoon = false;

  constructor(readonly socket: Duplex) {}

  /** What the system has not taken yet, in bytes. */
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

  /** Hands over what was written, now. */
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
