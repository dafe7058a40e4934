import type { ServerResponse } from "node:http";
import type { FactHistory } from "./fact-history.js";
import type { LiveEvents } from "./live-protocol.js";

/** A write has about this many characters. What a page has not read stays in the history, which is bounded. */
const BATCH_SIZE = 64 * 1024;

/** The messages that every page gets in addition to facts: the last one of each type. */
export interface LatestMessages {
  readonly state: string;
  readonly keys: string;
  readonly lab: string;
}

/**
 * An open page, which reads the history at its own pace. A slow page misses facts and gets their number. Of state, keys
 * and lab it gets only the latest.
 */
export class LiveClient {
  /** position in the history */
  #next: number;
  readonly #sent = { state: "", keys: "", lab: "" };

  /** @param next the position after the facts that the page has already */
  constructor(
    readonly response: ServerResponse,
    readonly history: FactHistory,
    readonly latest: LatestMessages,
    next: number,
  ) {
    this.#next = next <= history.end ? next : 0;
    response.on("drain", () => this.flush());
  }

  /** Writes pending messages until the page's socket is full. */
  flush(): void {
    while (!this.response.writableNeedDrain && !this.response.writableEnded) {
      const text = this.#take();
      if (text === "") return;
      this.response.write(text);
    }
  }

  #take(): string {
    const { lines, leftOut, next } = this.history.read(this.#next, BATCH_SIZE);
    this.#next = next;
    let text = leftOut === 0 ? "" : message("left-out", { count: leftOut });
    // The browser sends the id when it reconnects.
    if (lines.length > 0) text += `id: ${next}\nevent: fact\n${lines.map((line) => `data: ${line}`).join("")}\n`;
    for (const name of ["state", "keys", "lab"] as const) {
      if (this.latest[name] === this.#sent[name]) continue;
      this.#sent[name] = this.latest[name];
      text += this.latest[name];
    }
    return text;
  }

  end(): void {
    this.flush();
    this.response.end(message("end", {}));
  }
}

/** A server-sent event with JSON. */
export function message<K extends Exclude<keyof LiveEvents, "fact">>(name: K, data: LiveEvents[K]): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
