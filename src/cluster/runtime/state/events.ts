import type { Init } from "../../../staging/apimachinery/protobuf/fields.js";
import type { ContainerEventResponse } from "../../../staging/cri/messages/container-calls.js";
import type { ContainerEventType } from "../../../staging/cri/messages/enums.js";
import { Listeners } from "./listeners.js";

export type ContainerEvent = Init<typeof ContainerEventResponse>;
export type EventName = keyof typeof ContainerEventType;

/** The backlog of a slow listener; containerd's channel has the same length. */
const CAPACITY = 1000;

/** The events that a fault meets. */
interface FaultyEvents {
  /** how many; undefined: all until further notice */
  left: number | undefined;
}

/**
 * Sends container events to all listeners.
 *
 * Mirrors containerd's container_events.go. Differs: each listener has its own queue, so a slow listener loses only its
 * own events.
 */
export class EventHub {
  readonly #listeners = new Listeners<ContainerEvent>(CAPACITY);
  drop: FaultyEvents | undefined;
  /** the events to send twice */
  repeat: FaultyEvents | undefined;
  #droppedCount = 0;

  /** the number of events that a listener missed */
  get droppedCount(): number {
    return this.#droppedCount;
  }

  get listenerCount(): number {
    return this.#listeners.count;
  }

  /** @param make called only if there is a listener */
  publish(make: () => ContainerEvent): void {
    if (this.#isDropped()) return;
    const times = this.#isNext("repeat") ? 2 : 1;
    if (this.#listeners.count === 0) return;
    const event = make();
    for (let i = 0; i < times; i++) this.#droppedCount += this.#listeners.tell(event);
  }

  #isDropped(): boolean {
    const isDropped = this.#isNext("drop");
    if (isDropped) this.#droppedCount++;
    return isDropped;
  }

  /** Whether a fault meets the next event, which counts it. */
  #isNext(fault: "drop" | "repeat"): boolean {
    const events = this[fault];
    if (events?.left !== undefined && --events.left <= 0) this[fault] = undefined;
    return events !== undefined;
  }

  /** Events from now on, until `signal` aborts. */
  listen(signal: AbortSignal): AsyncGenerator<ContainerEvent> {
    return this.#listeners.listen(signal);
  }

  /** Ends all streams, as a stopping runtime does. */
  close(): void {
    this.#listeners.close();
  }
}
