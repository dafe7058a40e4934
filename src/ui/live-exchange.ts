import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { messageOf } from "../util/errors.js";
import { checkOrigin } from "../util/origin-check.js";
import { readAtMost } from "../util/read-at-most.js";
import { isRecord } from "../util/records.js";
import { requestUrl } from "../util/request-url.js";
import { EVENTS_PATH, KEYS_PATH } from "./live-protocol.js";

const MAX_BODY_BYTES = 1024;

const HEADERS = {
  // The page's own policy says what it may run and load.
  "content-security-policy": "frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

/** What requests can do. */
export interface LiveAccess {
  readonly port: number;
  readonly token: string;
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
    const { pathname, searchParams } = url;
    if (!isSame(searchParams.get("token") ?? "", live.token))
      return this.#refuse(403, "the address needs its token: use the one that the command printed");
    switch (pathname) {
      case "/":
        return await this.#page();
      case EVENTS_PATH:
        this.#events();
        return;
      case KEYS_PATH:
        return await this.#keys();
      default:
        return this.#refuse(404, `there is nothing at ${pathname}`);
    }
  }

  async #page(): Promise<void> {
    if (!this.#allows("GET", "HEAD")) return;
    const { LIVE_PAGE } = await import("./page.js");
    this.#send(200, "text/html; charset=utf-8", LIVE_PAGE);
  }

  #events(): void {
    if (!this.#allows("GET")) return;
    if (!this.live.hasRoom) {
      this.#refuse(503, "too many pages are open");
      return;
    }
    const { response, request } = this;
    response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream; charset=utf-8" });
    const next = Number(request.headers["last-event-id"] ?? 0);
    this.live.add(response, Number.isSafeInteger(next) && next > 0 ? next : 0);
  }

  async #keys(): Promise<void> {
    if (!this.#allows("POST")) return;
    // A foreign page can send other types without asking first.
    if (!/^application\/json\s*(?:;|$)/i.test(this.request.headers["content-type"] ?? ""))
      return this.#refuse(415, "a key is JSON: content-type application/json");
    const key = await this.#key();
    if (key === undefined) return this.#refuse(400, 'the body is not a key: {"key": "f"}');
    switch (await this.live.press(key)) {
      case "pressed":
        return this.#json(200, { pressed: key });
      case "unknown":
        return this.#refuse(404, `there is no key ${JSON.stringify(key)} now`);
      case "busy":
        return this.#refuse(429, "too many keys wait for the one before them");
    }
  }

  /** @returns undefined for a body that is no `KeyPress` */
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

  #refuse(status: number, error: string): void {
    this.#json(status, { error });
  }

  #json(status: number, body: unknown): void {
    this.#send(status, "application/json; charset=utf-8", `${JSON.stringify(body)}\n`);
  }

  #send(status: number, type: string, text: string): void {
    // What is left of a body is discarded, so that a client can finish sending one.
    this.request.resume();
    this.response.writeHead(status, { ...HEADERS, "content-type": type });
    this.response.end(this.request.method === "HEAD" ? "" : text);
  }
}

/** Takes the same time wherever two texts of one length differ. */
function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
