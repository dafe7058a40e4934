/** One at a time, in the order of asking. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `body` once all earlier ones have ended, however they ended. */
  run<T>(body: () => Promise<T>): Promise<T> {
    const result = this.#last.then(body);
    // The error is the caller's; the next in line only waits for the end.
    this.#last = result.then(nothing, nothing);
    return result;
  }
}

function nothing(): void {}
