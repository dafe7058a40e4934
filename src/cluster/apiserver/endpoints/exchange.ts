import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { UserInfo } from "../../../staging/server/authentication/user.js";
import type { Clock } from "../../../util/clock.js";
import type { RequestContext } from "../registry/rest/registry.js";
import type { ReportStage } from "../registry/rest/stages.js";
import { isPretty } from "./media-types.js";
import type { RequestInfo } from "./request-info.js";
import type { SeenBodies } from "./seen-bodies.js";

/** Mirrors RequestTimeout in k8s.io/apiserver/pkg/server/config.go. */
export const MAX_REQUEST_MS = 60_000;

/** Shared instances: an error created per abort would collect a stack trace for each stream that ends. */
const OVER = new DOMException("the response has ended", "AbortError");
const LEFT = new DOMException("the client disconnected", "AbortError");

/** A connection whose client asks to switch from HTTP to another protocol. */
export interface Upgrade {
  readonly socket: Duplex;
  /** the bytes that followed the head of the request */
  readonly head: Buffer;
}

/** One request on its way through filters and handlers, with the settings of its response. */
export class Exchange {
  readonly warnings: string[] = [];
  /** set by the authentication filter, changed by impersonation */
  user: UserInfo | undefined;
  cacheControl = "no-cache, private";
  /** false while the end of the body may still be unread */
  isBodyRead = false;
  /** how long the client has to send its body */
  timeoutMs = MAX_REQUEST_MS;
  /** a filter refused the request before any handler ran; upstream adds nosniff to exactly these responses */
  refusedByFilter = false;
  /** called when a response of unknown length begins: a watch, a log, an upgraded connection */
  began: (status: number) => void = () => {};
  /** set if the bodies of this request are wanted in the trace */
  bodies: SeenBodies | undefined;
  /** values of Vary, for responses that depend on request headers */
  vary: readonly string[] = [];
  /** set if a trace keeps what is done with this request */
  report: ReportStage | undefined;
  #abort: AbortController | undefined;

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly info: RequestInfo,
    readonly query: URLSearchParams,
    readonly auditId: string,
    readonly clock: Clock,
    /** the client asks for another protocol on this connection, which then carries only one response */
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

  /** The request's user and warnings, for handlers. */
  context(): RequestContext {
    if (this.user === undefined) throw new Error("a handler ran before authentication");
    return {
      user: this.user,
      auditId: this.auditId,
      warnings: this.warnings,
      ...(this.query.size > 0 && this.query.has("dryRun") ? { dryRun: true } : {}),
      ...(this.report === undefined ? {} : { report: this.report }),
    };
  }

  /** Aborts because the client no longer waits for the response, even if the connection is still open. */
  clientLeft(): void {
    this.#abort?.abort(LEFT);
  }

  /** Aborts when the response ends, the client disconnects or `closing` aborts. */
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
