import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { LabError, messageOf } from "../../util/errors.js";
import { checkOrigin } from "../../util/net/origin-check.js";
import { requestUrl } from "../../util/net/request-url.js";
import { readAtMost } from "../../util/os/read-at-most.js";
import { isRecord } from "../../util/records.js";
import { EVENTS_PATH, KEYS_PATH } from "./live-protocol.js";

const MAX_BODY_BYTES = 1024;

const HEADERS = {
  // The page's own policy limits what it can run and load.
  "content-security-policy": "frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

/** A status code and what is sent as JSON. */
export interface LiveAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** The paths that a command serves for scripts, in addition to its live page. */
export interface LiveEndpoints {
  /** for `GET /state` */
  readonly state: () => unknown | Promise<unknown>;
  /** answers another GET; undefined: 404 */
  readonly get?: (url: URL) => LiveAnswer | undefined;
  /** the action of a POST; undefined: the path has no action */
  readonly post?: (url: URL) => (() => Promise<LiveAnswer>) | undefined;
}

/** What requests can do. */
export interface LiveAccess {
  readonly port: number;
  /** undefined: any program and any own page of this machine has access */
  readonly token: string | undefined;
  readonly endpoints: LiveEndpoints | undefined;
  /** The request has passed the checks of origin and token: its connection stays. */
  letIn(request: IncomingMessage): void;
  /** false if too many pages are open */
  readonly hasRoom: boolean;
  /** Sends events to a page. @param next the position of the first fact that it does not have */
  add(response: ServerResponse, next: number): void;
  /** Presses a key of the window that is open. */
  press(key: string): Promise<"pressed" | "unknown" | "busy">;
}

/** One request to the server of a live page, and its answer. */
export class LiveExchange {
  constructor(
    readonly live: LiveAccess,
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
  ) {}

  async answer(): Promise<void> {
    try {
      await this.#answer();
    } catch (error) {
      if (this.response.headersSent) this.response.destroy();
      else this.#refuse(500, messageOf(error));
    }
  }

  async #answer(): Promise<void> {
    const { request, live } = this;
    const refusal = checkOrigin(request, live.port);
    if (refusal !== undefined) return this.#refuse(refusal.status, refusal.message);
    const url = requestUrl(request.url);
    if (url === undefined) return this.#refuse(404, `there is nothing at ${request.url}`);
    const { token, endpoints } = live;
    if (token !== undefined && !isSame(url.searchParams.get("token") ?? "", token))
      return this.#refuse(403, "the address needs its token: use the one that the command printed");
    live.letIn(request);
    if (url.pathname === KEYS_PATH) return await this.#press();
    const action = endpoints?.post?.(url);
    if (action !== undefined) return await this.#act(action);
    if (this.#allows("GET", "HEAD")) await this.#get(url);
  }

  async #get(url: URL): Promise<void> {
    const { endpoints } = this.live;
    switch (url.pathname) {
      case "/": {
        const { livePage } = await import("./page-head.js");
        return this.#send(200, "text/html; charset=utf-8", await livePage());
      }
      case EVENTS_PATH:
        return this.#events();
      case "/state":
        if (endpoints !== undefined) return this.#json({ status: 200, body: await endpoints.state() });
    }
    const missing = { status: 404, body: { error: `there is nothing at ${url.pathname}` } };
    this.#json(endpoints?.get?.(url) ?? missing);
  }

  #events(): void {
    if (!this.live.hasRoom) {
      this.#refuse(503, "too many pages are open");
      return;
    }
    const { response, request } = this;
    response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream; charset=utf-8" });
    const next = Number(request.headers["last-event-id"] ?? 0);
    this.live.add(response, Number.isSafeInteger(next) && next > 0 ? next : 0);
  }

  /** A GET from a link, an image or a prefetch never performs an action. */
  async #act(action: () => Promise<LiveAnswer>): Promise<void> {
    if (!this.#allows("POST")) return;
    const { "content-length": length = "0", "transfer-encoding": coding } = this.request.headers;
    const hint = "Put the parameters in the query, after a question mark.";
    // It would be ignored.
    if (Number(length) !== 0 || coding !== undefined) return this.#refuse(400, "a body is not read here", hint);
    try {
      this.#json(await action());
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      this.#refuse(400, error.message, error.hint);
    }
  }

  async #press(): Promise<void> {
    if (!this.#allows("POST")) return;
    // A foreign page can send other types without asking first.
    if (!/^application\/json\s*(?:;|$)/i.test(this.request.headers["content-type"] ?? ""))
      return this.#refuse(415, "a key is JSON: content-type application/json");
    const key = await this.#key();
    if (key === undefined) return this.#refuse(400, 'the body is not a key: {"key": "f"}');
    switch (await this.live.press(key)) {
      case "pressed":
        return this.#json({ status: 200, body: { pressed: key } });
      case "unknown":
        return this.#refuse(404, `there is no key ${JSON.stringify(key)} now`);
      case "busy":
        return this.#refuse(429, "too many keys wait for the one before them");
    }
  }

  /** @returns undefined if the body is not a `KeyPress` */
  async #key(): Promise<string | undefined> {
    try {
      const body: unknown = JSON.parse(String(await readAtMost(this.request, MAX_BODY_BYTES)));
      return isRecord(body) && typeof body["key"] === "string" ? body["key"] : undefined;
    } catch (error) {
      if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "EFBIG") return undefined;
      throw error;
    }
  }

  #allows(...methods: readonly string[]): boolean {
    const { method = "" } = this.request;
    if (methods.includes(method)) return true;
    const allow = methods.join(", ");
    this.response.setHeader("allow", allow);
    this.#refuse(405, `${method} is not for ${this.request.url?.replace(/\?.*/, "")}: use ${allow}`);
    return false;
  }

  #refuse(status: number, error: string, hint?: string): void {
    this.#json({ status, body: { error, hint } });
  }

  #json({ status, body }: LiveAnswer): void {
    this.#send(status, "application/json; charset=utf-8", `${JSON.stringify(body)}\n`);
  }

  #send(status: number, type: string, text: string): void {
    // The rest of a body is discarded, so that the client can finish sending it.
    this.request.resume();
    this.response.writeHead(status, { ...HEADERS, "content-type": type });
    this.response.end(this.request.method === "HEAD" ? "" : text);
  }
}

/** Compares two texts of one length in constant time. */
function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
