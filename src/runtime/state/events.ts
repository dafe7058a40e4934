import type { Init } from "../../apimachinery/protobuf/fields.js";
import type { ContainerEventResponse } from "../../cri/messages/container-calls.js";
import type { ContainerEventType } from "../../cri/messages/enums.js";
import { Listeners } from "./listeners.js";

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
  readonly #listeners = new Listeners<ContainerEvent>(CAPACITY);
  drop: EventDrop | undefined;
  #droppedCount = 0;

  /** how many events somebody has missed */
  get droppedCount(): number {
    return this.#droppedCount;
  }

  get listenerCount(): number {
    return this.#listeners.count;
  }

  /** @param make called only when somebody listens */
  publish(make: () => ContainerEvent): void {
    if (this.#isDropped()) return;
    if (this.#listeners.count > 0) this.#droppedCount += this.#listeners.tell(make());
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
  listen(signal: AbortSignal): AsyncGenerator<ContainerEvent> {
    return this.#listeners.listen(signal);
  }

  /** Ends all streams, as a runtime does that goes away. */
  close(): void {
    this.#listeners.close();
  }
}
