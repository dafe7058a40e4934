import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { UserInfo } from "../../server/authentication/user.js";
import type { Clock } from "../../util/clock.js";
import type { RequestContext } from "../registry/registry.js";
import { isPretty } from "./media-types.js";
import type { RequestInfo } from "./request-info.js";

/** Mirrors RequestTimeout in k8s.io/apiserver/pkg/server/config.go. */
export const MAX_REQUEST_MS = 60_000;

/** Made once: an error that an abort makes by itself collects its stack, for each stream that ends. */
const OVER = new DOMException("the answer is over", "AbortError");
const LEFT = new DOMException("the client is gone", "AbortError");

/** A connection whose client asks to switch from HTTP to another protocol. */
export interface Upgrade {
  readonly socket: Duplex;
  /** the bytes that followed the head of the request */
  readonly head: Buffer;
}

/** One request on its way through the filters and handlers, and what its answer must carry. */
export class Exchange {
  readonly warnings: string[] = [];
  /** set by the authentication filter, changed by impersonation */
  user: UserInfo | undefined;
  cacheControl = "no-cache, private";
  /** its end may still have to be told */
  isBodyRead = false;
  /** how long the client may take to send its body */
  timeoutMs = MAX_REQUEST_MS;
  /** refused by a filter, before any handler: upstream marks exactly these answers as not to be sniffed */
  refusedByFilter = false;
  /** values of Vary, for answers that differ by request headers */
  vary: readonly string[] = [];
  #abort: AbortController | undefined;

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly info: RequestInfo,
    readonly query: URLSearchParams,
    readonly auditId: string,
    readonly clock: Clock,
    /** the client wants to speak something else on this connection; then nothing but one answer goes over it */
    readonly upgrade?: Upgrade,
  ) {
    if (upgrade === undefined) return;
    response.shouldKeepAlive = false;
    this.isBodyRead = true;
  }

  get method(): string {
    return this.request.method ?? "";
  }

  get accept(): string | undefined {
    return this.request.headers.accept;
  }

  get isPretty(): boolean {
    return isPretty(this.query, this.request.headers["user-agent"]);
  }

  /** For handlers: who asks, and where warnings go. */
  context(): RequestContext {
    if (this.user === undefined) throw new Error("a handler ran before authentication");
    return {
      user: this.user,
      auditId: this.auditId,
      warnings: this.warnings,
      ...(this.query.size > 0 && this.query.has("dryRun") ? { dryRun: true } : {}),
    };
  }

  /** Nobody waits for the answer any more, though the connection may still be open. */
  clientLeft(): void {
    this.#abort?.abort(LEFT);
  }

  /** Aborts when the answer is over, for whatever reason, or the client has left, or when `closing` does. */
  abortSignal(closing: AbortSignal): AbortSignal {
    const abort = new AbortController();
    this.#abort = abort;
    const end = () => {
      closing.removeEventListener("abort", end);
      abort.abort(OVER);
    };
    closing.addEventListener("abort", end, { once: true });
    const connection = this.upgrade?.socket ?? this.response;
    connection.once("close", end);
    if (closing.aborted || connection.destroyed) end();
    return abort.signal;
  }
}
