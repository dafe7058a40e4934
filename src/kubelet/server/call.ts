import type { IncomingMessage, ServerResponse } from "node:http";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import type { KubeletServerHost } from "./host.js";

/** What a handler works with. */
export interface HandlerDeps {
  readonly host: KubeletServerHost;
  readonly clock: Clock;
  readonly trace: Trace;
}

/** One request that has been let in, on its way to its answer. */
export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** bytes that came behind the head of a request that wants another protocol */
  readonly head: Buffer;
  readonly method: string;
  /** decoded */
  readonly path: string;
  readonly query: URLSearchParams;
  /** named parts of the path */
  readonly params: Readonly<Record<string, string>>;
  /** aborts when the client is gone, the answer is over, or the kubelet closes */
  readonly signal: AbortSignal;
}
