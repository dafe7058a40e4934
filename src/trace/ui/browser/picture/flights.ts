import type { Message } from "./messages.js";

/** Messages on their way, drawn as one dot. */
export interface Flight extends Message {
  /** the messages that left at the same time on the same line */
  readonly count: number;
  readonly startMs: number;
}

/** The number of dots that a reader can still follow. */
const MAX_FLIGHTS = 40;
export const FLIGHT_MS = 700;
/** Messages on one line share a dot unless they are this far apart. */
const APART_MS = 90;

/** The dots that move in the picture. */
export class Flights {
  #flights: Flight[] = [];
  /** messages without a dot of their own; each is counted in the last dot of its line */
  readonly #last = new Map<string, number>();

  /** Messages that leave now or later. */
  launch(messages: readonly Message[], nowMs: number, startMs = nowMs): void {
    this.#end(nowMs);
    for (const message of messages) {
      const way = `${message.from}>${message.to}>${message.isBad}`;
      const at = this.#last.get(way);
      const before = at === undefined ? undefined : this.#flights[at];
      if (at !== undefined && before !== undefined && startMs - before.startMs < APART_MS) {
        this.#flights[at] = { ...before, count: before.count + 1 };
      } else if (this.#flights.length < MAX_FLIGHTS) {
        this.#last.set(way, this.#flights.length);
        this.#flights.push({ ...message, count: 1, startMs });
      }
    }
  }

  /** Those on their way now. */
  at(nowMs: number): readonly Flight[] {
    this.#end(nowMs);
    return this.#flights;
  }

  #end(nowMs: number): void {
    if (this.#flights.every(({ startMs }) => nowMs - startMs < FLIGHT_MS)) return;
    this.#flights = this.#flights.filter(({ startMs }) => nowMs - startMs < FLIGHT_MS);
    this.#last.clear();
    for (const [i, { from, to, isBad }] of this.#flights.entries()) this.#last.set(`${from}>${to}>${isBad}`, i);
  }
}
