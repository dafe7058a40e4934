import type { Duplex } from "node:stream";

/** Writes to a socket so that what is written in one turn of the event loop goes out in one system call. */
export class CorkedWriter {
  #isCorked = false;
  readonly #uncork = () => {
    this.#isCorked = false;
    this.socket.uncork();
  };

  constructor(readonly socket: Duplex) {}

  write(bytes: Uint8Array): void {
    const { socket } = this;
    if (socket.destroyed) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      socket.cork();
      process.nextTick(this.#uncork);
    }
    socket.write(bytes);
  }
}
