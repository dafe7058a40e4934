import type { TraceEvent } from "../events.js";
import type { Level, TraceSink } from "../trace.js";

/** About 20 MB. */
const DEFAULT_CAPACITY = 20_000;
/** The longest bodies of one fact that are kept, in characters of JSON. */
const MAX_BODY_LENGTH = 128 * 1024;

/** Keeps the last facts in memory, with their causes across actors, and the bodies of the last requests. */
export class RecentFacts implements TraceSink {
  readonly level: Level = 3;
  #events: TraceEvent[] = [];
  #droppedCount = 0;
  /** the facts with bodies, the oldest first */
  readonly #withBodies: { readonly number: number; readonly length: number }[] = [];
  #bodiesLength = 0;

  /** @param maxBodiesLength characters of all bodies as JSON; 0: no bodies are kept */
  constructor(
    readonly capacity = DEFAULT_CAPACITY,
    readonly maxBodiesLength = 0,
  ) {}

  write(event: TraceEvent): void {
    this.#events.push(this.#kept(event));
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

  #kept(event: TraceEvent): TraceEvent {
    const length = bodiesLength(event);
    if (length === 0) return event;
    if (length > Math.min(MAX_BODY_LENGTH, this.maxBodiesLength)) return withoutBodies(event);
    this.#withBodies.push({ number: this.count, length });
    this.#bodiesLength += length;
    while (this.#bodiesLength > this.maxBodiesLength) this.#dropOldestBodies();
    return event;
  }

  #dropOldestBodies(): void {
    const [{ number, length } = { number: -1, length: 0 }] = this.#withBodies.splice(0, 1);
    this.#bodiesLength -= length;
    const at = number - this.#droppedCount;
    const event = this.#events[at];
    if (event !== undefined) this.#events[at] = withoutBodies(event);
  }
}

function bodiesLength(event: TraceEvent): number {
  if (event.kind !== "request" && event.kind !== "rpc") return 0;
  const { requestBody, responseBody } = event;
  const lengthOf = (body: unknown) => (body === undefined ? 0 : JSON.stringify(body).length);
  return lengthOf(requestBody) + lengthOf(responseBody);
}

function withoutBodies(event: TraceEvent): TraceEvent {
  if (event.kind !== "request" && event.kind !== "rpc") return event;
  const { requestBody: _sent, responseBody: _got, ...rest } = event;
  return rest;
}
