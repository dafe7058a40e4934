import type { IncomingMessage, ServerResponse } from "node:http";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import type { KubeletServerHost } from "./host.js";

/** The dependencies of handlers. */
export interface HandlerDeps {
  readonly host: KubeletServerHost;
  readonly clock: Clock;
  readonly trace: Trace;
}

/** An authorized request that waits for its response. */
export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** bytes after the head of an upgrade request */
  readonly head: Buffer;
  readonly method: string;
  /** decoded */
  readonly path: string;
  readonly query: URLSearchParams;
  /** named parts of the path */
  readonly params: Readonly<Record<string, string>>;
  /** aborts when the client disconnects, the response is finished, or the kubelet closes */
  readonly signal: AbortSignal;
}
