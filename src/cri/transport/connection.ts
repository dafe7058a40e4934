import { type ClientHttp2Session, connect } from "node:http2";
import { createConnection, type Socket } from "node:net";
import type { Clock } from "../../util/clock.js";
import type { Endpoint } from "../endpoint.js";
import { RpcError } from "../status.js";

/** pkg/kubelet/cri/remote/remote_runtime.go (baseBackoffDelay, maxBackoffDelay, minConnectionTimeout) */
const BASE_BACKOFF_DELAY_MS = 100;
const MAX_BACKOFF_DELAY_MS = 3_000;
const MIN_CONNECTION_TIMEOUT_MS = 5_000;
/** google.golang.org/grpc/backoff (DefaultConfig). Differs: no jitter, so that two runs print the same trace. */
const BACKOFF_MULTIPLIER = 1.6;
/** How much a runtime may send ahead: with HTTP/2's default of 64 KB a list of megabytes would stop a hundred times. */
const WINDOW_BYTES = 16 * 1024 * 1024;

/**
 * One HTTP/2 connection to an endpoint, made when it is first needed and again when it was lost.
 *
 * After a failure, calls fail at once with the same error until the backoff is over; the next one then tries again.
 * Mirrors google.golang.org/grpc (pick_first, addrConn.resetTransport) as far as one address needs it.
 */
export class Connection {
  #session: ClientHttp2Session | undefined;
  #attempt: Promise<ClientHttp2Session> | undefined;
  #failures = 0;
  #retryAtMs = 0;
  #lastError: RpcError | undefined;
  readonly #closing = new AbortController();

  constructor(
    readonly endpoint: Endpoint,
    readonly clock: Clock,
  ) {}

  /** The session, if there is one that takes calls. */
  get ready(): ClientHttp2Session | undefined {
    const session = this.#session;
    return session === undefined || session.closed || session.destroyed ? undefined : session;
  }

  /** @throws RpcError Unavailable */
  connect(): Promise<ClientHttp2Session> {
    if (this.#lastError !== undefined && this.clock.now() < this.#retryAtMs) return Promise.reject(this.#lastError);
    this.#attempt ??= this.#connect().finally(() => {
      this.#attempt = undefined;
    });
    return this.#attempt;
  }

  async #connect(): Promise<ClientHttp2Session> {
    try {
      const session = await this.#dial();
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
  #dial(): Promise<ClientHttp2Session> {
    return new Promise((resolve, reject) => {
      const timer = new AbortController();
      const fail = (error: Error) => {
        timer.abort();
        session.destroy();
        reject(error);
      };
      const session = connect("http://localhost", {
        createConnection: () => dial(this.endpoint),
        settings: { enablePush: false, initialWindowSize: WINDOW_BYTES },
        maxSessionMemory: 1024,
      });
      session.on("error", fail);
      session.once("close", () => fail(new Error("the other side closed the connection")));
      session.once("remoteSettings", () => {
        timer.abort();
        session.setLocalWindowSize(WINDOW_BYTES);
        session.off("error", fail);
        session.on("error", () => session.destroy()); // its calls are told by their streams
        resolve(session);
      });
      const whenLate = () => fail(new Error(`no HTTP/2 settings within ${MIN_CONNECTION_TIMEOUT_MS / 1000} s`));
      this.clock
        .sleep(MIN_CONNECTION_TIMEOUT_MS, AbortSignal.any([timer.signal, this.#closing.signal]))
        .then(whenLate, () => {
          if (this.#closing.signal.aborted) fail(new Error("the client was closed"));
        });
    });
  }

  /** Ends the session with everything that is under way on it. */
  close(): void {
    this.#closing.abort();
    this.#session?.destroy();
  }
}

function dial(endpoint: Endpoint): Socket {
  if (endpoint.kind === "unix") return createConnection({ path: endpoint.path });
  return createConnection({ host: endpoint.host, port: endpoint.port, noDelay: true });
}
