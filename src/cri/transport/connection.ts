import { createConnection, type Socket } from "node:net";
import type { Clock } from "../../util/clock.js";
import type { Endpoint } from "../endpoint.js";
import { RpcError } from "../status.js";
import { ClientSession } from "./client-session.js";

/** pkg/kubelet/cri/remote/remote_runtime.go (baseBackoffDelay, maxBackoffDelay, minConnectionTimeout) */
const BASE_BACKOFF_DELAY_MS = 100;
const MAX_BACKOFF_DELAY_MS = 3_000;
const MIN_CONNECTION_TIMEOUT_MS = 5_000;
/** google.golang.org/grpc/backoff (DefaultConfig). Differs: no jitter, so that two runs print the same trace. */
const BACKOFF_MULTIPLIER = 1.6;
const READ_BYTES = 256 * 1024;

/**
 * One HTTP/2 connection to an endpoint, made when it is first needed and again when it was lost.
 *
 * After a failure, calls fail at once with the same error until the backoff is over; the next one then tries again.
 * Mirrors google.golang.org/grpc (pick_first, addrConn.resetTransport) as far as one address needs it.
 */
export class Connection {
  #session: ClientSession | undefined;
  #attempt: Promise<ClientSession> | undefined;
  #failures = 0;
  #retryAtMs = 0;
  #lastError: RpcError | undefined;
  readonly #closing = new AbortController();

  constructor(
    readonly endpoint: Endpoint,
    readonly clock: Clock,
  ) {}

  /** The session, if there is one that takes calls. */
  get ready(): ClientSession | undefined {
    return this.#session?.isOpen === true ? this.#session : undefined;
  }

  /** @throws RpcError Unavailable */
  connect(): Promise<ClientSession> {
    if (this.#lastError !== undefined && this.clock.now() < this.#retryAtMs) return Promise.reject(this.#lastError);
    this.#attempt ??= this.#connect().finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  async #connect(): Promise<ClientSession> {
    try {
      const session = await this.#dial();
      if (this.#closing.signal.aborted) session.destroy("the client was closed");
      this.#session = session;
      this.#failures = 0;
      this.#lastError = undefined;
      return session;
    } catch (cause) {
      const delayMs = BASE_BACKOFF_DELAY_MS * BACKOFF_MULTIPLIER ** this.#failures++;
      this.#retryAtMs = this.clock.now() + Math.min(delayMs, MAX_BACKOFF_DELAY_MS);
      const why = cause instanceof Error ? cause.message : String(cause);
      this.#lastError = new RpcError("Unavailable", `connection error: ${why}`, { cause });
      throw this.#lastError;
    }
  }

  /** A session counts once the other side has sent its settings: before, anything might be listening there. */
  #dial(): Promise<ClientSession> {
    return new Promise((resolve, reject) => {
      const timer = new AbortController();
      const socket = dial(this.endpoint, (chunk) => session.received(chunk));
      const session: ClientSession = new ClientSession(
        socket,
        () => {
          timer.abort(OVER);
          resolve(session);
        },
        (why) => {
          timer.abort(OVER);
          reject(new Error(why));
        },
      );
      // However fast the clock: another process takes its time to answer.
      const limitMs = MIN_CONNECTION_TIMEOUT_MS * Math.max(1, this.clock.speed ?? 1);
      this.clock.sleep(limitMs, AbortSignal.any([timer.signal, this.#closing.signal])).then(
        () => session.destroy(`no HTTP/2 settings within ${MIN_CONNECTION_TIMEOUT_MS / 1000} s`),
        () => {
          if (this.#closing.signal.aborted) session.destroy("the client was closed");
        },
      );
    });
  }

  /** Ends the session with everything that is under way on it. */
  close(): void {
    this.#closing.abort();
    this.#session?.destroy("the client was closed");
  }
}

/** Why a timer ends that nobody needs any more. */
const OVER = new Error("connected, or not");

/** One buffer for all that arrives: what is to be kept is copied out of it, once. */
function dial(endpoint: Endpoint, receive: (chunk: Buffer) => void): Socket {
  const onread = {
    buffer: Buffer.allocUnsafeSlow(READ_BYTES),
    callback: (count: number, buffer: Uint8Array) => {
      receive(Buffer.from(buffer.buffer, buffer.byteOffset, count));
      return true;
    },
  };
  const socket =
    endpoint.kind === "unix"
      ? createConnection({ path: endpoint.path, onread })
      : createConnection({ host: endpoint.host, port: endpoint.port, noDelay: true, onread });
  return socket.resume(); // or its end would never be seen
}
