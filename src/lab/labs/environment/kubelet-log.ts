import { closeSync, openSync, writeFileSync } from "node:fs";

/**
 * The file with a kubelet's log. A line is in it before the answer that the line tells about can arrive: a learner
 * greps it as soon as kubectl has ended.
 */
export class KubeletLog {
  readonly #fd: number;
  #pending = "";
  #isClosed = false;

  constructor(path: string) {
    this.#fd = openSync(path, "a");
  }

  /** Lines of one turn of the event loop are written together: each write is a system call, and a fast clock has many lines. */
  write(text: string): void {
    if (this.#isClosed) return;
    if (this.#pending === "") setImmediate(() => this.#flush());
    this.#pending += text;
  }

  /** Writes what is left. Safe to call twice. */
  close(): void {
    if (this.#isClosed) return;
    this.#flush();
    this.#isClosed = true;
    closeSync(this.#fd);
  }

  #flush(): void {
    const text = this.#pending;
    this.#pending = "";
    if (text === "" || this.#isClosed) return;
    try {
      writeFileSync(this.#fd, text);
    } catch {
      // A full disk: the lab goes on without these lines, as a node does.
    }
  }
}
