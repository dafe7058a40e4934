import { AsyncQueue } from "../../../util/async/async-queue.js";

/** Sends items to all listeners. Each has its own queue, so a slow listener loses only its own items. */
export class Listeners<T> {
  readonly #queues = new Set<AsyncQueue<T>>();

  /** @param capacity the backlog of a slow listener */
  constructor(readonly capacity: number) {}

  get count(): number {
    return this.#queues.size;
  }

  /** @returns how many listeners were too slow */
  tell(item: T): number {
    let missed = 0;
    for (const queue of this.#queues) if (!queue.push(item)) missed++;
    return missed;
  }

  /** Items from now on, until `signal` aborts. */
  async *listen(signal: AbortSignal): AsyncGenerator<T> {
    const queue = new AsyncQueue<T>(this.capacity);
    this.#queues.add(queue);
    try {
      yield* queue.iterate(signal);
    } finally {
      this.#queues.delete(queue);
    }
  }

  /** Ends all streams; listeners still read their backlog. */
  close(): void {
    for (const queue of this.#queues) queue.close();
  }
}
