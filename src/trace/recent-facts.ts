import type { TraceEvent } from "./events.js";
import type { Level, TraceSink } from "./trace.js";

/** About 20 MB. */
const DEFAULT_CAPACITY = 20_000;

/** Keeps the last facts in memory, with what leads from one actor to the next but without bodies. */
export class RecentFacts implements TraceSink {
  readonly level: Level = 3;
  #events: TraceEvent[] = [];
  #droppedCount = 0;

  constructor(readonly capacity = DEFAULT_CAPACITY) {}

  write(event: TraceEvent): void {
    this.#events.push(event);
    if (this.#events.length < 2 * this.capacity) return;
    this.#droppedCount += this.capacity;
    this.#events = this.#events.slice(this.capacity);
  }

  /** how many facts have been written: a mark for `since` */
  get count(): number {
    return this.#droppedCount + this.#events.length;
  }

  /** The facts written after the first `count`, the oldest first; at most `capacity`. */
  since(count = 0): readonly TraceEvent[] {
    return this.#events.slice(Math.max(count - this.#droppedCount, this.#events.length - this.capacity, 0));
  }
}
