import type { SpdyLimits } from "./limits.js";
import type { SpdyStream } from "./stream.js";

/**
 * The received but unread bytes of a connection. One stream without a reader stops all of them, as upstream: a peer
 * without windows can only be stopped as a whole.
 */
export class Backlog {
  /** the approximate memory of all streams, in bytes */
  bytes = 0;
  #fullCount = 0;

  /** @param socket paused while the backlog is too long */
  constructor(
    readonly socket: { isPaused: boolean },
    readonly limits: SpdyLimits,
  ) {}

  arrived(stream: SpdyStream, piece: Uint8Array): void {
    this.bytes += stream.inbox.push(piece);
    if (stream.inbox.weight > this.limits.maxBufferedBytes && !stream.isFull) {
      stream.isFull = true;
      this.#fullCount++;
    }
    this.#updatePause();
  }

  /** @param bytes the approximate memory that the stream released */
  freed(stream: SpdyStream, bytes: number): void {
    if (bytes === 0) return;
    this.bytes -= bytes;
    if (stream.isFull && stream.inbox.weight <= this.limits.maxBufferedBytes / 2) {
      stream.isFull = false;
      this.#fullCount--;
    }
    this.#updatePause();
  }

  #updatePause(): void {
    this.socket.isPaused = this.#fullCount > 0 || this.bytes > this.limits.maxConnectionBufferedBytes;
  }
}
