import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Pleg } from "../../../kubelet/pleg/pleg.js";
import type { Trace } from "../../../trace/trace.js";
import { LabError } from "../../../util/errors.js";
import type { LabRuntime } from "../lab-runtime.js";
import type { HttpAddress } from "../plan.js";
import { PAGE_CSS } from "./css.js";
import { refuseStranger } from "./guard.js";
import { PAGE_HTML } from "./html.js";
import { LiveEvents } from "./live.js";
import { PAGE_JS } from "./script.js";
import { pageState } from "./state.js";

export interface PageDeps {
  readonly pleg: Pleg;
  readonly trace: Trace;
  /** for people: `containerd 1.6.20` */
  readonly runtime: string;
  readonly lab: LabRuntime | undefined;
}

export interface PageServer {
  readonly url: string;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Nothing is loaded from elsewhere, nothing inline runs, nobody frames it. */
const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; img-src data:; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

const FILES: Readonly<Record<string, readonly [type: string, text: string]>> = {
  "/": ["text/html; charset=utf-8", PAGE_HTML],
  "/page.js": ["text/javascript; charset=utf-8", PAGE_JS],
  "/page.css": ["text/css; charset=utf-8", PAGE_CSS],
};

/**
 * Serves the lab's page on this machine: what PLEG knows, live, and buttons where there is a lab runtime behind it.
 *
 *   GET  /          the page        GET /state    its state as JSON
 *   GET  /events    facts and states, live
 *   POST /actions/ID?target=CONTAINER   does it
 *
 * @throws LabError USAGE where it cannot listen
 */
export async function servePage(deps: PageDeps, { host, port }: HttpAddress): Promise<PageServer> {
  const live = new LiveEvents(deps.trace.clock.now());
  deps.trace.addSink(live);
  let ownPort = port;
  const server = createServer((request, response) => {
    new Exchange(deps, live, request, response).answer(ownPort).catch((error: unknown) => {
      deps.trace.emit({ kind: "error", message: `the page: ${String(error)}` }, { actor: "user" });
      response.destroy();
    });
  });
  await listen(server, host, port);
  ownPort = (server.address() as AddressInfo).port;
  const closing = new AbortController();
  const showing = showStates(deps, live, closing.signal);
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

/** The page lags behind by this at most; what happens is there at once. */
const STATE_PERIOD_MS = 250;

/** Brings open pages up to date until `signal` aborts. */
async function showStates(
  { pleg, runtime, lab, trace }: PageDeps,
  live: LiveEvents,
  signal: AbortSignal,
): Promise<void> {
  try {
    for (;;) {
      if (live.hasListeners) live.show(pageState(pleg, runtime, lab));
      await trace.clock.sleep(STATE_PERIOD_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "somebody else listens there" : cause.message;
      const hint = "Name another port, or 0 for a free one: --http 127.0.0.1:0";
      reject(new LabError("USAGE", `the page cannot be served at ${host}:${port}: ${why}`, hint, { cause }));
    });
    server.listen(port, host, () => resolve());
  });
}

/** One request and its answer. */
class Exchange {
  readonly #url: URL;

  constructor(
    readonly deps: PageDeps,
    readonly live: LiveEvents,
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
  ) {
    this.#url = new URL(request.url ?? "/", "http://page");
    // Nothing is read of a body; whoever sends one is not kept waiting.
    request.resume();
  }

  async answer(ownPort: number): Promise<void> {
    const refusal = refuseStranger(this.request, ownPort);
    if (refusal !== undefined) return this.#json(refusal.status, { error: refusal.message });
    const { pathname } = this.#url;
    const actionId = /^\/actions\/([a-z0-9-]+)$/.exec(pathname)?.[1];
    if (actionId !== undefined) return this.#act(actionId);
    const { method } = this.request;
    if (method !== "GET" && method !== "HEAD") return this.#notAllowed("GET, HEAD");
    const file = FILES[pathname];
    if (file !== undefined) return this.#send(200, file[0], file[1]);
    const { pleg, runtime, lab } = this.deps;
    if (pathname === "/state") return this.#json(200, pageState(pleg, runtime, lab));
    if (pathname !== "/events") return this.#json(404, { error: `there is nothing at ${pathname}` });
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) this.response.setHeader(name, value);
    if (!this.live.add(this.response)) return this.#json(503, { error: "too many pages are open" });
  }

  async #act(actionId: string): Promise<void> {
    // Whatever a link, an image or a prefetch asks for, nothing changes.
    if (this.request.method !== "POST") return this.#notAllowed("POST");
    const { lab, trace } = this.deps;
    if (lab === undefined) {
      return this.#json(403, { error: "this is a real runtime: it is looked at, and never changed" });
    }
    try {
      const did = await lab.act(actionId, this.#url.searchParams.get("target") ?? undefined);
      trace.emit({ kind: "note", text: did }, { actor: "user" });
      this.#json(200, { did });
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      this.#json(400, { error: error.message, hint: error.hint });
    }
  }

  #notAllowed(allow: string): void {
    this.response.setHeader("allow", allow);
    this.#json(405, { error: `${this.request.method} is not for ${this.#url.pathname}: use ${allow}` });
  }

  #json(status: number, value: unknown): void {
    this.#send(status, "application/json; charset=utf-8", `${JSON.stringify(value)}\n`);
  }

  #send(status: number, type: string, text: string): void {
    this.response.writeHead(status, { ...SECURITY_HEADERS, "content-type": type });
    this.response.end(this.request.method === "HEAD" ? "" : text);
  }
}
