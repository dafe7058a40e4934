import type { WatchEvent } from "../../../../staging/apimachinery/api/meta.js";
import type { Trace } from "../../../../trace/trace.js";
import type { Exchange } from "../exchange.js";
import { expiredInWatch } from "./fault-status.js";
import { noteFault } from "./note-fault.js";
import { type RequestMatch, Rules } from "./request-match.js";

/**
 * `stall`: events and bookmarks wait; `end`: the response ends, as at its timeout; `repeat`: each event comes twice; `expire`: an ERROR
 * event with 410 Expired, then the end.
 */
export const WATCH_FAULTS = ["stall", "end", "repeat", "expire"] as const;

export interface WatchFault {
  readonly how: (typeof WATCH_FAULTS)[number];
  /** how many watches it ends, or events it repeats; absent: all */
  readonly count?: number;
}

/** Faults of watches: of those that are open, and of later ones. */
export class WatchFaults {
  readonly #rules = new Rules<WatchFault>();
  readonly #open = new Set<InterruptibleReader>();

  /** @param fault undefined removes the one with this match: the events that waited are sent */
  set(match: RequestMatch, fault: WatchFault | undefined): void {
    this.#rules.set(match, fault);
    for (const reader of this.#open) reader.interrupt();
  }

  /** The events of a watch as its client gets them. */
  async *meet(exchange: Exchange, events: AsyncIterable<WatchEvent>, trace: Trace): AsyncGenerator<WatchEvent> {
    const { info, user, query } = exchange;
    const reader = new InterruptibleReader(events);
    this.#open.add(reader);
    const waiting: WatchEvent[] = [];
    let wasStalled = false;
    try {
      for (;;) {
        const how = this.#rules.find(info, user)?.how;
        if (how === "end" || how === "expire") {
          this.#rules.claim(info, user);
          noteFault(
            trace,
            how === "end"
              ? `chaos ends the watch of ${info.path} by ${user?.username}`
              : `chaos answers 410 in the watch of ${info.path} by ${user?.username}`,
          );
          if (how === "expire") yield { type: "ERROR", object: { ...expiredInWatch(query).status } };
          return;
        }
        const isStalled = how === "stall";
        if (isStalled && !wasStalled)
          noteFault(trace, `chaos holds back the events of the watch of ${info.path} by ${user?.username}`);
        wasStalled = isStalled;
        const event = isStalled ? undefined : waiting.shift();
        if (event !== undefined) {
          yield event;
          if (how !== "repeat") continue;
          this.#rules.claim(info, user);
          noteFault(trace, `chaos repeats an event of the watch of ${info.path} by ${user?.username}`);
          yield event;
          continue;
        }
        const read = await reader.next();
        // The watch's own end comes through also during a stall: the client then watches again.
        if (read?.done === true) return;
        if (read !== undefined) waiting.push(read.value);
      }
    } finally {
      this.#open.delete(reader);
    }
  }
}

/** Reads events one by one. A wait for the next one can be interrupted without losing it. */
class InterruptibleReader {
  readonly #iterator: AsyncIterator<WatchEvent>;
  #reading: Promise<IteratorResult<WatchEvent>> | undefined;
  interrupt: () => void = () => {};

  constructor(events: AsyncIterable<WatchEvent>) {
    this.#iterator = events[Symbol.asyncIterator]();
  }

  /** @returns undefined if it was interrupted */
  async next(): Promise<IteratorResult<WatchEvent> | undefined> {
    const reading = this.#reading ?? this.#iterator.next();
    this.#reading = reading;
    const read = await new Promise<IteratorResult<WatchEvent> | undefined>((resolve, reject) => {
      this.interrupt = () => resolve(undefined);
      reading.then(resolve, reject);
    });
    if (read !== undefined) this.#reading = undefined;
    return read;
  }
}
