import { AsyncQueue } from "../../util/async-queue.js";

/** Tells everybody who listens. Each has a queue of its own, so a slow one loses its own items only. */
export class Listeners<T> {
  readonly #queues = new Set<AsyncQueue<T>>();

  /** @param capacity how many items wait for one that is slow */
  constructor(readonly capacity: number) {}

  get count(): number {
    return this.#queues.size;
  }

  /** @returns how many were too slow to be told */
  tell(item: T): number {
    let missed = 0;
    for (const queue of this.#queues) if (!queue.push(item)) missed++;
    return missed;
  }

  /** Items from now on, until the signal. */
  async *listen(signal: AbortSignal): AsyncGenerator<T> {
    const queue = new AsyncQueue<T>(this.capacity);
    this.#queues.add(queue);
    try {
      yield* queue.iterate(signal);
    } finally {
      this.#queues.delete(queue);
    }
  }

  /** Nothing more comes: who listens reads what waits, and ends. */
  close(): void {
    for (const queue of this.#queues) queue.close();
  }
}
