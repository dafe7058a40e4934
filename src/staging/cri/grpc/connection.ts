import { type Client, connectivityState, type ServiceError } from "@grpc/grpc-js";
import type { Clock } from "../../../util/clock.js";
import { lastErrorIn } from "../../../util/grpc-last-error.js";
import { grpcCode } from "../../../util/net/grpc-codes.js";
import type { Timer } from "../../../util/timer.js";
import type { Endpoint } from "./endpoint.js";
import { openGrpcClient } from "./grpc-client.js";
import { type RpcFailure, rpcFailure } from "./status.js";

/** pkg/kubelet/cri/remote/remote_runtime.go (baseBackoffDelay, maxBackoffDelay, minConnectionTimeout) */
const BASE_BACKOFF_DELAY_MS = 100;
const MAX_BACKOFF_DELAY_MS = 3_000;
const MIN_CONNECTION_TIMEOUT_MS = 5_000;
/** google.golang.org/grpc/backoff (DefaultConfig). Differs: no jitter, so that two runs print the same trace. */
const BACKOFF_MULTIPLIER = 1.6;

const NO_SETTINGS = rpcFailure(
  "Unavailable",
  `connection error: no HTTP/2 settings within ${MIN_CONNECTION_TIMEOUT_MS / 1000} s`,
);

/**
 * The gRPC client of one endpoint: connects on the first call, and reconnects after the connection is lost.
 *
 * After a failed attempt, calls fail immediately with the same error until the backoff is over; the next call then tries again.
 * Mirrors google.golang.org/grpc (addrConn.resetTransport) for one address.
 * Differs: the backoff runs on the injected clock. grpc-js would use the system's, so a failed client is replaced by a new one.
 */
export class Connection {
  #client: Client | undefined;
  /** aborts the client's attempt to connect */
  #stop = new AbortController();
  #attempt: Timer | undefined;
  #failures = 0;
  #retryAtMs = 0;
  #lastFailure: RpcFailure | undefined;

  constructor(
    readonly endpoint: Endpoint,
    readonly clock: Clock,
  ) {}

  /** The client, connected or connecting; during a backoff, the failure of the last attempt. */
  get(): Client | RpcFailure {
    if (this.#client !== undefined) return this.#client;
    if (this.#lastFailure !== undefined && this.clock.now() < this.#retryAtMs) return this.#lastFailure;
    this.#stop = new AbortController();
    const client = openGrpcClient(this.endpoint, this.#stop.signal);
    this.#client = client;
    this.#watch(client);
    return client;
  }

  /** Converts grpc-js's error. */
  failureOf(client: Client, { code, details }: ServiceError): RpcFailure {
    const failure = rpcFailure(grpcCode(code), details);
    if (this.#client === client || failure.code !== "Unavailable") return failure;
    this.#lastFailure ??= rpcFailure("Unavailable", `connection error: ${connectionError(details)}`);
    return this.#lastFailure;
  }

  #watch(client: Client): void {
    const channel = client.getChannel();
    const state = channel.getConnectivityState(false);
    this.#changed(client, state);
    if (client !== this.#client) return;
    channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, () => this.#watch(client));
  }

  #changed(client: Client, state: connectivityState): void {
    if (client !== this.#client) return;
    if (state === connectivityState.CONNECTING) {
      // The runtime answers in real time, even if our clock runs faster.
      const limitMs = MIN_CONNECTION_TIMEOUT_MS * Math.max(1, this.clock.speed ?? 1);
      this.#attempt ??= this.clock.timer(limitMs, () => this.#failed(client, NO_SETTINGS));
      return;
    }
    this.#attempt?.stop();
    this.#attempt = undefined;
    if (state === connectivityState.READY) this.#failures = 0;
    else if (state === connectivityState.TRANSIENT_FAILURE) this.#failed(client, undefined);
  }

  /** @param failure undefined if the failed calls will report it */
  #failed(client: Client, failure: RpcFailure | undefined): void {
    this.#attempt = undefined;
    this.#client = undefined;
    this.#lastFailure = failure;
    const delayMs = BASE_BACKOFF_DELAY_MS * BACKOFF_MULTIPLIER ** this.#failures++;
    this.#retryAtMs = this.clock.now() + Math.min(delayMs, MAX_BACKOFF_DELAY_MS);
    // Deferred, because grpc-js is about to fail the waiting calls with the reason.
    const stop = this.#stop;
    setImmediate(() => {
      client.close();
      stop.abort();
    });
  }

  /** Ends the connection and every call on it. */
  close(): void {
    this.#attempt?.stop();
    const client = this.#client;
    this.#client = undefined;
    const isConnected = client?.getChannel().getConnectivityState(false) === connectivityState.READY;
    client?.close();
    if (!isConnected) this.#stop.abort();
  }
}

/** The reason in grpc-js's message about a failed connection, without the time and the note on name resolution. */
function connectionError(details: string): string {
  return lastErrorIn(details) ?? details;
}
