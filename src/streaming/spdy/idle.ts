import type { Clock } from "../../util/clock.js";

/** Tells when nothing has happened for too long. */
export class IdleWatch {
  #lastMs: number;
  readonly #over = new AbortController();

  constructor(
    readonly clock: Clock,
    readonly timeoutMs: number,
  ) {
    this.#lastMs = clock.now();
  }

  touch(): void {
    this.#lastMs = this.clock.now();
  }

  /** @returns true when it was idle for the whole timeout, false when it was stopped before */
  async expired(): Promise<boolean> {
    try {
      for (let leftMs = this.timeoutMs; leftMs > 0; leftMs = this.#lastMs + this.timeoutMs - this.clock.now()) {
        await this.clock.sleep(leftMs, this.#over.signal);
      }
      return true;
    } catch {
      return false; // Stopped.
    }
  }

  stop(): void {
    this.#over.abort("stopped");
  }
}
