import type { ServerResponse } from "node:http";
import type { TraceEvent } from "../../trace/events.js";
import { factText, plainText, type TerminalOptions } from "../../trace/terminal.js";
import type { TraceSink } from "../../trace/trace.js";

/** Pages that are open at the same time; one more than that is refused. */
const MAX_LISTENERS = 16;
/** A page that does not read is cut off rather than remembered. */
const MAX_BACKLOG_BYTES = 1024 * 1024;
/** What a page sees of what was before it. */
const KEPT_FACTS = 200;
/** Lines are broken by the page itself; only the columns of tables must fit something. */
const PAGE_WIDTH = 1000;

/**
 * Sends facts of the trace to open pages, as server-sent events: `fact` for each one, `state` whenever what the page shows
 * has changed.
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

  /** Takes over a response; false: too many have been taken already. */
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

  /** Is anybody there to see a state? */
  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  /** Sends what the page shows, if it is not what was sent before. */
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
