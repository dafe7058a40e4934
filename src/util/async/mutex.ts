/** Runs one caller at a time, in order of arrival. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `body` after all earlier ones have ended, successfully or not. */
  run<T>(body: () => Promise<T>): Promise<T> {
    const result = this.#last.then(body);
    // The error goes to its own caller; the next in line only waits for the end.
    this.#last = result.then(nothing, nothing);
    return result;
  }
}

function nothing(): void {}
