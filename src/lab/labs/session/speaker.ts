import type { LabMessage } from "./message.js";

export type MessageReader = (message: LabMessage) => void;

/** Passes a session's messages to its reader, and keeps them for the next reader while it has no reader. */
export class Speaker {
  #held: LabMessage[] = [];

  /** @param reader undefined: messages wait for the first reader */
  constructor(public reader?: MessageReader) {}

  readonly emit: MessageReader = (message) => {
    if (this.reader !== undefined) this.reader(message);
    // Remaining times are outdated when they are read.
    else if (message.kind !== "waiting" && message.kind !== "waited") this.#held.push(message);
  };

  /** Passes on what was held. @returns whether there was anything */
  flush(): boolean {
    const held = this.#held.splice(0);
    held.forEach(this.emit);
    return held.length > 0;
  }

  /** Runs `body` with another reader, which gets the held messages first; undefined: holds messages meanwhile. */
  async during<T>(reader: MessageReader | undefined, body: () => Promise<T>): Promise<T> {
    const before = this.reader;
    this.reader = reader;
    try {
      if (reader !== undefined) this.flush();
      return await body();
    } finally {
      this.reader = before;
    }
  }
}
