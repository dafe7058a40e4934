import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import { listenProblem } from "../../util/listen-problem.js";
import { checkOrigin } from "../../util/origin-check.js";
import { requestUrl } from "../../util/request-url.js";
import { LiveEvents } from "./live.js";

export interface HttpAddress {
  readonly host: string;
  readonly port: number;
}

export interface PageAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** The files, data and actions of a page. */
export interface PageContent {
  /** path: [media type, text] */
  readonly files: Readonly<Record<string, readonly [type: string, text: string]>>;
  /** the displayed state: for `GET /state`, and sent live */
  readonly state: () => unknown | Promise<unknown>;
  /** answers another GET; undefined: 404 */
  readonly get?: (url: URL) => PageAnswer | undefined;
  /** the action of a POST; undefined: the path has no action */
  readonly post?: (url: URL) => (() => Promise<PageAnswer>) | undefined;
}

export interface PageServer {
  readonly url: string;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The page loads nothing from other servers, runs no inline scripts, and cannot be framed. */
const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; img-src data:; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

/**
 * Serves a live page on this machine: its files, its state as JSON (`GET /state`), and facts of the trace and states as
 * server-sent events (`GET /events`). Only a POST changes anything.
 * @throws LabError USAGE when it cannot listen on the address
 */
export async function servePage(trace: Trace, content: PageContent, { host, port }: HttpAddress): Promise<PageServer> {
  const live = new LiveEvents(trace.clock.now());
  trace.addSink(live);
  let ownPort = port;
  const server = createServer((request, response) => {
    const url = requestUrl(request.url) ?? new URL("http://page/*");
    new Exchange(content, live, request, response, url).answer(ownPort).catch((error: unknown) => {
      trace.emit({ kind: "error", message: `the page: ${String(error)}` }, { actor: "user" });
      response.destroy();
    });
  });
  await listen(server, host, port);
  ownPort = (server.address() as AddressInfo).port;
  const closing = new AbortController();
  const showing = showStates(trace, content, live, closing.signal);
  const close = async () => {
    closing.abort();
    await showing;
    await live.close();
    if (!server.listening) return;
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${ownPort}/`;
  return { url, close, [Symbol.asyncDispose]: close };
}

/** How far the displayed state can lag behind. Facts are sent at once. */
const STATE_PERIOD_MS = 250;

/** Sends states to open pages until `signal` aborts. */
async function showStates(trace: Trace, content: PageContent, live: LiveEvents, signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      if (live.hasListeners) live.show(await content.state());
      await trace.clock.sleep(STATE_PERIOD_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const hint = "Name another port, or 0 for a free one: --http 127.0.0.1:0";
      reject(
        new LabError("USAGE", `the page cannot be served at ${host}:${port}: ${listenProblem(cause)}`, hint, { cause }),
      );
    });
    server.listen(port, host, () => resolve());
  });
}

/** One request and its answer. */
class Exchange {
  constructor(
    readonly content: PageContent,
    readonly live: LiveEvents,
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly url: URL,
  ) {
    // Bodies are discarded, so that a client can finish sending one.
    request.resume();
  }

  async answer(ownPort: number): Promise<void> {
    const refusal = checkOrigin(this.request, ownPort);
    if (refusal !== undefined) return this.#json({ status: refusal.status, body: { error: refusal.message } });
    const { content } = this;
    const action = content.post?.(this.url);
    // A GET from a link, an image or a prefetch never performs an action.
    if (action !== undefined) return this.request.method === "POST" ? this.#act(action) : this.#notAllowed("POST");
    const { method } = this.request;
    if (method !== "GET" && method !== "HEAD") return this.#notAllowed("GET, HEAD");
    const { pathname } = this.url;
    const file = content.files[pathname];
    if (file !== undefined) return this.#send(200, file[0], file[1]);
    if (pathname === "/state") return this.#json({ status: 200, body: await content.state() });
    if (pathname !== "/events") return this.#json(content.get?.(this.url) ?? nothingAt(pathname));
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) this.response.setHeader(name, value);
    if (!this.live.add(this.response)) return this.#json({ status: 503, body: { error: "too many pages are open" } });
  }

  async #act(action: () => Promise<PageAnswer>): Promise<void> {
    try {
      refuseBody(this.request);
      this.#json(await action());
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      this.#json({ status: 400, body: { error: error.message, hint: error.hint } });
    }
  }

  #notAllowed(allow: string): void {
    this.response.setHeader("allow", allow);
    const error = `${this.request.method} is not for ${this.url.pathname}: use ${allow}`;
    this.#json({ status: 405, body: { error } });
  }

  #json({ status, body }: PageAnswer): void {
    this.#send(status, "application/json; charset=utf-8", `${JSON.stringify(body)}\n`);
  }

  #send(status: number, type: string, text: string): void {
    this.response.writeHead(status, { ...SECURITY_HEADERS, "content-type": type });
    this.response.end(this.request.method === "HEAD" ? "" : text);
  }
}

/** Refuses a body, because it would be ignored. */
function refuseBody({ headers }: IncomingMessage): void {
  const { "content-length": length = "0", "transfer-encoding": coding } = headers;
  if (Number(length) === 0 && coding === undefined) return;
  throw new LabError("USAGE", "a body is not read here", "Put the parameters in the query, after a question mark.");
}

function nothingAt(pathname: string): PageAnswer {
  return { status: 404, body: { error: `there is nothing at ${pathname}` } };
}
