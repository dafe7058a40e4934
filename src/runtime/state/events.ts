import type { ContainerEventResponse } from "../../cri/messages/container-calls.js";
import type { ContainerEventType } from "../../cri/messages/enums.js";
import type { Init } from "../../protobuf/fields.js";
import { AsyncQueue } from "../../util/async-queue.js";

export type ContainerEvent = Init<typeof ContainerEventResponse>;
export type EventName = keyof typeof ContainerEventType;

/** How many events wait for a reader that is slow; containerd's channel is as long. */
const CAPACITY = 1000;

/** Which events nobody is told of: a control for lessons. */
export interface EventDrop {
  /** how many of the next ones; undefined: all, until told otherwise */
  left: number | undefined;
}

/**
 * Hands container events to everybody who listens.
 *
 * Mirrors containerd's container_events.go. Differs: each listener has a queue of its own, so a slow one loses its own
 * events only.
 */
export class EventHub {
  readonly #queues = new Set<AsyncQueue<ContainerEvent>>();
  drop: EventDrop | undefined;
  #droppedCount = 0;

  /** how many events somebody has missed */
  get droppedCount(): number {
    return this.#droppedCount;
  }

  get listenerCount(): number {
    return this.#queues.size;
  }

  /** @param make called only when somebody listens */
  publish(make: () => ContainerEvent): void {
    if (this.#isDropped()) return;
    if (this.#queues.size === 0) return;
    const event = make();
    for (const queue of this.#queues) if (!queue.push(event)) this.#droppedCount++;
  }

  #isDropped(): boolean {
    if (this.drop === undefined) return false;
    if (this.drop.left !== undefined) {
      this.drop.left--;
      if (this.drop.left <= 0) this.drop = undefined;
    }
    this.#droppedCount++;
    return true;
  }

  /** Events from now on, until the signal. */
  async *listen(signal: AbortSignal): AsyncGenerator<ContainerEvent> {
    const queue = new AsyncQueue<ContainerEvent>(CAPACITY);
    this.#queues.add(queue);
    try {
      yield* queue.iterate(signal);
    } finally {
      this.#queues.delete(queue);
    }
  }

  /** Ends all streams, as a runtime does that goes away. */
  close(): void {
    for (const queue of this.#queues) queue.close();
  }
}
