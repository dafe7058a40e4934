import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { LabError, messageOf } from "../../util/errors.js";
import { listenProblem } from "../../util/net/listen-problem.js";
import type { Timer } from "../../util/timer.js";
import type { TraceEvent } from "../events.js";
import { CAUSES_LEVEL, LEVELS, type Level, type TraceSink } from "../trace.js";
import { FactHistory } from "./fact-history.js";
import { factLine } from "./facts.js";
import { LiveClient, message } from "./live-client.js";
import { type LiveAccess, type LiveEndpoints, LiveExchange } from "./live-exchange.js";
import type { LabView, LiveFuture, LiveKey, LiveRelist, StateTable } from "./live-protocol.js";

/** The tables that a command shows on its live page, and the keys that a reader can press there. */
export interface LiveWindow {
  readonly tables: () => readonly StateTable[] | Promise<readonly StateTable[]>;
  readonly keys?: () => readonly LiveKey[];
  /** default: the command's clock cannot be held */
  readonly future?: (() => LiveFuture) | undefined;
  readonly relist?: () => LiveRelist;
  readonly lab?: () => LabView;
  /** performs the key as the terminal does; reports the result, or the reason for a failure, as a fact */
  readonly press?: (key: string) => Promise<void>;
}

export interface LiveServerOptions {
  /** of this machine; default 127.0.0.1 */
  readonly host?: string;
  /** 0: a free one */
  readonly port: number;
  /** the wall clock: pages are updated in real time */
  readonly clock: Clock;
  /** facts above this level are not sent; default: those with causes */
  readonly level?: Level;
  /** the facts for a page that opens late */
  readonly history?: FactHistory;
  /** paths for scripts; neither they nor the page need a token then. Default: only the page, with a token */
  readonly endpoints?: LiveEndpoints;
  /** for the error about a busy port: the flag that sets another one */
  readonly hint?: string;
}

/** The number of pages that can be open at once, and of their connections. */
const MAX_CLIENTS = 16;
const MAX_CONNECTIONS = 64;
/** Of these, the connections without a request that was let in. The oldest ends when another one comes. */
const MAX_STRANGERS = 32;
/** The number of keys that can wait for the one before them. */
const MAX_PRESSES = 16;
/** Facts within this time are sent together. */
const TICK_MS = 40;
/** The rows of a table that a page shows. */
const MAX_ROWS = 200;
/** How far the tables can lag behind. */
const STATE_PERIOD_MS = 250;
const TOKEN_BYTES = 16;

/**
 * Serves the live page of a command on this machine, under an address with a random token, and sends it the command's
 * facts, tables and keys.
 */
export class LiveServer implements TraceSink, LiveAccess, AsyncDisposable {
  /** Stories are told for pages, also those of quieter facts. */
  readonly level = LEVELS.story;
  readonly #factLevel: Level;
  readonly token: string | undefined;
  readonly endpoints: LiveEndpoints | undefined;
  readonly #clock: Clock;
  readonly #history: FactHistory;
  readonly #server: Server = createServer((request, response) => {
    void new LiveExchange(this, request, response).answer();
  });
  readonly #clients = new Set<LiveClient>();
  /** in the order of their arrival */
  readonly #strangers = new Set<Socket>();
  readonly #latest = {
    state: message("state", { tables: [] }),
    keys: message("keys", []),
    lab: "",
  };
  readonly #windows: LiveWindow[] = [];
  #tick: Timer | undefined;
  #stateAtMs = Number.NEGATIVE_INFINITY;
  #isAsking = false;
  #presses = 0;
  #isClosed = false;

  private constructor({ clock, level = CAUSES_LEVEL, history = new FactHistory(), endpoints }: LiveServerOptions) {
    this.#clock = clock;
    this.#factLevel = level;
    this.#history = history;
    this.endpoints = endpoints;
    this.token = endpoints === undefined ? randomBytes(TOKEN_BYTES).toString("base64url") : undefined;
  }

  /** @throws LabError USAGE if it cannot listen on the address */
  static async open(options: LiveServerOptions): Promise<LiveServer> {
    const live = new LiveServer(options);
    live.#server.maxConnections = MAX_CONNECTIONS;
    live.#server.on("connection", (socket) => live.#meet(socket));
    await listen(live.#server, options);
    return live;
  }

  #meet(socket: Socket): void {
    this.#strangers.add(socket);
    socket.once("close", () => this.#strangers.delete(socket));
    const [oldest] = this.#strangers;
    if (this.#strangers.size > MAX_STRANGERS) oldest?.destroy();
  }

  letIn({ socket }: IncomingMessage): void {
    this.#strangers.delete(socket);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** the page's address, with its token if it needs one */
  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    const query = this.token === undefined ? "" : `?token=${this.token}`;
    return `http://${address.includes(":") ? `[${address}]` : address}:${port}/${query}`;
  }

  /** Shows a window's tables and keys, until the result is disposed of. */
  present(window: LiveWindow): Disposable {
    this.#windows.push(window);
    this.#stateAtMs = Number.NEGATIVE_INFINITY;
    return {
      [Symbol.dispose]: () => {
        const at = this.#windows.indexOf(window);
        if (at >= 0) this.#windows.splice(at, 1);
      },
    };
  }

  write(event: TraceEvent): void {
    const isShown = event.kind === "story" || event.level <= this.#factLevel;
    if (!this.#isClosed && isShown) this.#history.push(factLine(event));
  }

  get hasRoom(): boolean {
    return !this.#isClosed && this.#clients.size < MAX_CLIENTS;
  }

  add(response: ServerResponse, next: number): void {
    const client = new LiveClient(response, this.#history, this.#latest, next);
    this.#clients.add(client);
    response.on("close", () => this.#clients.delete(client));
    response.write("retry: 1000\n\n");
    client.flush();
    this.#stateAtMs = Number.NEGATIVE_INFINITY;
    this.#schedule();
  }

  async press(key: string): Promise<"pressed" | "unknown" | "busy"> {
    const window = this.#windows.at(-1);
    if (window?.press === undefined || window.keys?.().some((one) => one.key === key) !== true) return "unknown";
    if (this.#presses >= MAX_PRESSES) return "busy";
    this.#presses += 1;
    try {
      await window.press(key);
    } finally {
      this.#presses -= 1;
    }
    // Its effect is shown at the next tick.
    this.#stateAtMs = Number.NEGATIVE_INFINITY;
    return "pressed";
  }

  /** Runs as long as a page is open. */
  #schedule(): void {
    if (this.#tick !== undefined || this.#clients.size === 0 || this.#isClosed) return;
    this.#tick = this.#clock.timer(TICK_MS, () => {
      this.#tick = undefined;
      for (const client of this.#clients) client.flush();
      void this.#askForState();
      this.#schedule();
    });
  }

  async #askForState(): Promise<void> {
    const nowMs = this.#clock.now();
    if (this.#isAsking || nowMs - this.#stateAtMs < STATE_PERIOD_MS) return;
    this.#isAsking = true;
    this.#stateAtMs = nowMs;
    const window = this.#windows.at(-1);
    try {
      const tables = (await window?.tables()) ?? [];
      this.#latest.state = message("state", {
        tables: tables.map(bounded),
        ...defined({ future: window?.future?.(), relist: window?.relist?.() }),
      });
      this.#latest.keys = message("keys", window?.keys?.() ?? []);
      // The text of a lab that is over stays.
      if (window?.lab !== undefined) this.#latest.lab = message("lab", window.lab());
    } catch (error) {
      // A runtime or a server that does not answer does not end the command; the next attempt may succeed.
      const note = `cannot be read now: ${messageOf(error)}`;
      this.#latest.state = message("state", { tables: [{ title: "State", columns: [], rows: [], note }] });
    } finally {
      this.#isAsking = false;
    }
  }

  /** Ends at once, also if pages are open. Safe to call twice. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#tick?.stop();
    for (const client of this.#clients) client.end();
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function bounded(table: StateTable): StateTable {
  const omitted = table.rows.length - MAX_ROWS;
  if (omitted <= 0) return table;
  const note = [table.note ?? "", `${omitted} more are not shown`].filter(Boolean).join("; ");
  return { ...table, rows: table.rows.slice(0, MAX_ROWS), note };
}

function listen(
  server: Server,
  { host = "127.0.0.1", port, hint = "Name another port, or none for a free one: --ui" }: LiveServerOptions,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      const problem = `the page cannot be served at ${host}:${port}: ${listenProblem(cause)}`;
      reject(new LabError("USAGE", problem, hint, { cause }));
    });
    server.listen(port, host, resolve);
  });
}
