import type { Socket } from "node:net";

/** Writes to a socket so that what is written in one go goes out in one go. */
export class CorkedWriter {
  #isCorked = false;
  readonly #uncork = () => {
    this.#isCorked = false;
    this.socket.uncork();
  };

  constructor(readonly socket: Socket) {}

  write(bytes: Buffer): void {
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
