import type { Socket } from "node:net";
import { FRAME_HEAD_BYTES, writeFrameHead } from "./frames.js";

const BUFFER_BYTES = 32 * 1024;
/** What is longer goes out as it is: copying it would cost more than another piece. */
const MAX_COPIED_BYTES = 4 * 1024;

/**
 * Writes frames to a socket. What one turn of the event loop brings goes out in one system call, and the small frames of it
 * in one piece: for Node and for the kernel, thirty requests are then no more than one.
 */
export class FrameWriter {
  #bytes = Buffer.alloc(0);
  /** what lies from here to `#to` has not gone out */
  #from = 0;
  #to = 0;
  #isDue = false;
  readonly #send = () => this.#flush();

  constructor(readonly socket: Socket) {}

  frame(type: number, flags: number, stream: number, payload: Uint8Array): void {
    const { length } = payload;
    writeFrameHead(this.#room(FRAME_HEAD_BYTES), this.#to, length, type, flags, stream);
    this.#to += FRAME_HEAD_BYTES;
    this.write(payload);
  }

  /** @param bytes nobody changes them any more if they are many */
  write(bytes: Uint8Array): void {
    if (bytes.length > MAX_COPIED_BYTES) {
      this.#writeLong(bytes);
      return;
    }
    this.#room(bytes.length).set(bytes, this.#to);
    this.#to += bytes.length;
  }

  /** The buffer, which has room for so many bytes from `#to` on. */
  #room(count: number): Buffer {
    if (!this.#isDue) {
      this.#isDue = true;
      process.nextTick(this.#send);
    }
    if (this.#to + count > this.#bytes.length) {
      this.#hand();
      // The socket may still be at the old one.
      this.#bytes = Buffer.allocUnsafeSlow(BUFFER_BYTES);
      this.#from = 0;
      this.#to = 0;
    }
    return this.#bytes;
  }

  #writeLong(bytes: Uint8Array): void {
    this.#room(0);
    this.#hand();
    this.#toSocket(bytes);
  }

  /** Hands what has been collected to the socket. */
  #hand(): void {
    if (this.#from === this.#to) return;
    const piece = this.#bytes.subarray(this.#from, this.#to);
    this.#from = this.#to;
    this.#toSocket(piece);
  }

  /** Before the turn's end there is more to come: it waits in the socket. */
  #toSocket(bytes: Uint8Array): void {
    if (this.socket.destroyed) return;
    if (this.#isDue && this.socket.writableCorked === 0) this.socket.cork();
    this.socket.write(bytes);
  }

  /** Nothing comes after what was written. */
  end(): void {
    this.#flush();
    this.socket.end();
  }

  #flush(): void {
    this.#isDue = false;
    this.#hand();
    if (this.socket.writableCorked > 0) this.socket.uncork();
  }
}
