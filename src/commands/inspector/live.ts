import type { ServerResponse } from "node:http";
import type { TraceEvent } from "../../trace/events.js";
import { factText, plainText, type TerminalOptions } from "../../trace/terminal.js";
import type { TraceSink } from "../../trace/trace.js";

/** The number of pages that can be open at once. */
const MAX_LISTENERS = 16;
/** A page that does not read is disconnected once its backlog exceeds this size. */
const MAX_BACKLOG_BYTES = 1024 * 1024;
/** A new page receives this many earlier facts. */
const KEPT_FACTS = 200;
/** The page wraps lines itself; the width only limits the columns of tables. */
const PAGE_WIDTH = 1000;

/**
 * Sends server-sent events to open pages: `fact` for each fact of the trace, and `state` when the displayed state changes.
 */
export class LiveEvents implements TraceSink {
  /** steps, decisions, states: what a terminal shows by default */
  readonly level = 1;
  readonly #listeners = new Set<ServerResponse>();
  readonly #kept: string[] = [];
  #state = "";
  readonly #options: TerminalOptions;
  #isClosed = false;

  constructor(startMs: number) {
    this.#options = plainText({ width: () => PAGE_WIDTH, verbosity: 1, startMs });
  }

  /** Takes over a response. @returns false when too many pages are open */
  add(response: ServerResponse): boolean {
    if (this.#isClosed || this.#listeners.size >= MAX_LISTENERS) return false;
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write(`retry: 1000\n\n${this.#kept.join("")}${this.#state}`);
    this.#listeners.add(response);
    response.on("close", () => this.#listeners.delete(response));
    return true;
  }

  write(event: TraceEvent): void {
    if (this.#isClosed || event.level > this.level) return;
    const { kind, actor, atMs } = event;
    const seconds = ((atMs - this.#options.startMs) / 1000).toFixed(3);
    const message = `event: fact\ndata: ${JSON.stringify({ kind, actor, seconds, ...factText(event, this.#options) })}\n\n`;
    this.#kept.push(message);
    if (this.#kept.length > KEPT_FACTS) this.#kept.shift();
    this.#send(message);
  }

  /** Whether a page is open. */
  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** Sends the state if it differs from the last one. */
  show(state: unknown): void {
    const message = `event: state\ndata: ${JSON.stringify(state)}\n\n`;
    if (message === this.#state) return;
    this.#state = message;
    this.#send(message);
  }

  #send(message: string): void {
    for (const listener of this.#listeners) {
      if (listener.writableLength > MAX_BACKLOG_BYTES) listener.destroy();
      else listener.write(message);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const listener of this.#listeners) listener.end();
  }
}
