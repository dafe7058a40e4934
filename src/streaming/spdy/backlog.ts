import type { SpdyLimits } from "./limits.js";
import type { SpdyStream } from "./stream.js";

/**
 * What has arrived on a connection and was not read yet. One stream that nobody reads stops all of them, as upstream: a peer
 * without windows can only be stopped as a whole.
 */
export class Backlog {
  /** of memory, about, of all streams */
  bytes = 0;
  #fullCount = 0;

  /** @param socket paused while this is too long */
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

  /** @param bytes of memory, about, that the stream holds no more */
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
