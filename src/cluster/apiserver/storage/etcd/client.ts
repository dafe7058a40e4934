import {
  type Client,
  type ClientDuplexStream,
  Metadata,
  type ServiceError,
  type StatusObject,
  status,
} from "@grpc/grpc-js";
import type { DecodedFields, FieldTable, InitFields } from "../../../../staging/apimachinery/protobuf/fields.js";
import { onAbort } from "../../../../util/async/abort.js";
import { Deadlines, type Waiter } from "../../../../util/async/deadlines.js";
import { SystemClock } from "../../../../util/clock.js";
import { messageOf } from "../../../../util/errors.js";
import type { EtcdEndpoint } from "./endpoints.js";
import { EtcdError, etcdError } from "./errors.js";
import type { WatchRequest, WatchResponse } from "./messages.js";
import { type EtcdRpc, WATCH } from "./rpcs.js";

/** Mirrors defaultUnaryMaxRetries and defaultBackoffWaitBetween in etcd's client/v3/options.go. */
const MAX_ATTEMPTS = 100;
const BACKOFF_MS = 25;

/** Ends a watch when its server has no leader, so that another can continue it. Mirrors clientv3.WithRequireLeader. */
const HAS_LEADER = new Metadata();
HAS_LEADER.set("hasleader", "true");
/** Shared by all calls. */
const NO_METADATA = new Metadata();
const NO_CONTEXT = {};

export interface EtcdCallOptions {
  readonly timeoutMs: number;
  /** false: one attempt, as for a health check */
  readonly isRetried?: boolean;
}

/**
 * Calls etcd. The servers are tried in turn: a call goes to the one that answered last.
 *
 * A read is repeated while the servers are unavailable, a write only if it was not sent: it may have been done otherwise.
 * Mirrors etcd's client/v3/retry_interceptor.go (unaryClientInterceptor) and retry.go (isSafeRetry).
 */
export class EtcdClient {
  /** etcd runs on the wall clock, however fast the cluster's clock is */
  readonly clock = new SystemClock();
  readonly #deadlines = new Deadlines<Waiter>(this.clock);
  readonly #closed = new AbortController();
  #current = 0;

  constructor(
    readonly endpoints: readonly EtcdEndpoint[],
    /** once it aborts, each call has one attempt at each server */
    readonly ending: AbortSignal = new AbortController().signal,
  ) {}

  /** @throws EtcdError */
  async call<Req extends FieldTable, Res extends FieldTable>(
    rpc: EtcdRpc<Req, Res>,
    request: InitFields<Req>,
    { timeoutMs, isRetried = true }: EtcdCallOptions,
  ): Promise<DecodedFields<Res>> {
    const deadlineMs = this.clock.now() + timeoutMs;
    for (let attempt = 1; ; attempt++) {
      const endpoint = this.#endpoint();
      try {
        return await this.callAt(endpoint, rpc, request, deadlineMs);
      } catch (error) {
        if (!(error instanceof EtcdError) || error.code !== "Unavailable") throw error;
        this.#leave(endpoint);
        const mayRepeat = isRetried && (rpc.isRead || error.isUnsent) && !this.#closed.signal.aborted;
        const maxAttempts = this.ending.aborted ? this.endpoints.length : MAX_ATTEMPTS;
        if (!mayRepeat || attempt >= maxAttempts || this.clock.now() + BACKOFF_MS >= deadlineMs) throw error;
        // The next server is tried at once.
        if (attempt % this.endpoints.length === 0) await this.clock.sleep(BACKOFF_MS);
      }
    }
  }

  /** One attempt at one server. @param deadlineMs on `clock` @throws EtcdError */
  callAt<Req extends FieldTable, Res extends FieldTable>(
    { url, client }: EtcdEndpoint,
    { path, request: encoder, response: decoder }: EtcdRpc<Req, Res>,
    request: InitFields<Req>,
    deadlineMs: number,
  ): Promise<DecodedFields<Res>> {
    return new Promise((resolve, reject) => {
      const running = callUnary(client, path, encoder.encode(request), (ended, answer) => {
        this.#deadlines.remove(waiter);
        if (ended.code !== status.OK) return reject(etcdError(url, ended));
        if (answer === undefined) return reject(new EtcdError("Internal", url, "an answer without a message"));
        try {
          resolve(decoder.decode(answer));
        } catch (error) {
          reject(new EtcdError("Internal", url, messageOf(error)));
        }
      });
      const waiter: Waiter = {
        deadlineMs,
        giveUp() {
          reject(new EtcdError("DeadlineExceeded", url, "context deadline exceeded"));
          running.cancelWithStatus(status.CANCELLED, "the deadline has passed");
        },
      };
      this.#deadlines.add(waiter);
    });
  }

  /**
   * One watch on a stream of its own, until the server ends it or `signal` aborts (normal end).
   * @throws EtcdError when the stream breaks
   */
  async *watch(request: Parameters<typeof WatchRequest.encode>[0], signal: AbortSignal): AsyncGenerator<WatchResponse> {
    if (signal.aborted) return;
    const endpoint = this.#endpoint();
    const stream: ClientDuplexStream<typeof request, WatchResponse> = endpoint.client.makeBidiStreamRequest(
      WATCH.path,
      (value) => WATCH.request.encode(value),
      (bytes) => WATCH.response.decode(bytes),
      HAS_LEADER,
    );
    // Stays after the reader has left, because a cancelled stream ends with an error, too.
    stream.on("error", () => {});
    using _ = onAbort(signal, () => stream.cancel());
    try {
      stream.write(request);
      yield* stream as AsyncIterable<WatchResponse>;
    } catch (error) {
      if (signal.aborted) return;
      if (!isServiceError(error)) throw error;
      this.#leave(endpoint);
      throw etcdError(endpoint.url, error);
    } finally {
      stream.cancel();
    }
  }

  #endpoint(): EtcdEndpoint {
    return this.endpoints[this.#current] as EtcdEndpoint;
  }

  /** Switches to the next server. */
  #leave(endpoint: EtcdEndpoint): void {
    if (endpoint === this.#endpoint()) this.#current = (this.#current + 1) % this.endpoints.length;
  }

  /** Ends all calls. */
  close(): void {
    this.#closed.abort();
    for (const { client } of this.endpoints) client.close();
  }
}

/**
 * One message there and one back. grpc-js's makeUnaryRequest does the same behind a chain of interceptors, with an emitter of events
 * and the caller's stack for each call: these are a fourth of what a call costs.
 */
function callUnary(
  client: Client,
  path: string,
  message: Buffer,
  ended: (status: Pick<StatusObject, "code" | "details">, answer: Buffer | undefined) => void,
) {
  const call = client.getChannel().createCall(path, Number.POSITIVE_INFINITY, null, null, null);
  let answer: Buffer | undefined;
  call.start(NO_METADATA, {
    onReceiveMetadata() {},
    onReceiveMessage(bytes: Buffer) {
      answer = bytes;
    },
    onReceiveStatus(status) {
      ended(status, answer);
    },
  });
  call.sendMessageWithContext(NO_CONTEXT, message);
  call.startRead();
  call.halfClose();
  return call;
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && "details" in error;
}
