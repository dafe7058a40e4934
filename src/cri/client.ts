import { Client, type ClientReadableStream, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import type { DecodedFields, FieldTable, InitFields } from "../protobuf/fields.js";
import type { Actor } from "../trace/events.js";
import type { Trace } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import { CallReport } from "./call-report.js";
import { CallWatch, grpcTimeout } from "./deadline.js";
import { type Endpoint, grpcTarget, parseEndpoint } from "./endpoint.js";
import type { AnyRpc, StreamRpc, UnaryRpc } from "./rpc.js";
import { grpcCode, RpcError, type RpcResult, rpcFailure } from "./status.js";

export interface CriDeps {
  readonly clock: Clock;
  readonly trace: Trace;
  /** whose calls these are, for the trace */
  readonly actor: Actor;
}

export interface CallOptions {
  /** ms of the clock; without it the call may take as long as it takes */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A connection to a container runtime, made when it is first used and again whenever it is lost. */
export interface CriChannel {
  readonly endpoint: Endpoint;
  /**
   * One call, one response. What the runtime answers, also an error, is a value.
   * @throws the signal's reason
   */
  call<Req extends FieldTable, Res extends FieldTable>(
    rpc: UnaryRpc<Req, Res>,
    request: InitFields<Req>,
    options: CallOptions,
  ): Promise<RpcResult<DecodedFields<Res>>>;
  /**
   * The responses of a streaming call, until the runtime ends it or `signal` aborts (both: normal end).
   * @throws RpcError when the runtime refuses it or the connection breaks
   */
  stream<Req extends FieldTable, Res extends FieldTable>(
    rpc: StreamRpc<Req, Res>,
    request: InitFields<Req>,
    options: CallOptions,
  ): AsyncGenerator<DecodedFields<Res>>;
  /** Cancels what is under way. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What the kubelet accepts; the library's own default is 4 MB. pkg/kubelet/cri/remote/utils.go (maxMsgSize). */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** pkg/kubelet/cri/remote/remote_runtime.go (baseBackoffDelay, maxBackoffDelay) */
const BASE_BACKOFF_DELAY_MS = 100;
const MAX_BACKOFF_DELAY_MS = 3_000;
/** How much a runtime may send ahead: with the default of 64 KB a list of megabytes would need a hundred round trips. */
const FLOW_CONTROL_WINDOW = MAX_MESSAGE_BYTES;

/**
 * Opens a channel; nothing is sent until the first call.
 *
 * Mirrors pkg/kubelet/cri/remote/remote_runtime.go (NewRemoteRuntimeService): no TLS, 16 MB messages, its backoff.
 * @throws LabError USAGE for an endpoint that is none
 */
export function openCriChannel(endpoint: string, deps: CriDeps): CriChannel {
  const parsed = parseEndpoint(endpoint);
  if (parsed.kind === "unix" && parsed.warning !== undefined) {
    deps.trace.emit({ kind: "note", text: parsed.warning }, { actor: deps.actor, level: 0 });
  }
  return new GrpcChannel(parsed, deps);
}

class GrpcChannel implements CriChannel {
  readonly #client: Client;
  readonly #closing = new AbortController();
  /** ends a call that is under way */
  readonly #live = new Set<() => void>();

  constructor(
    readonly endpoint: Endpoint,
    readonly deps: CriDeps,
  ) {
    this.#client = new Client(grpcTarget(endpoint), credentials.createInsecure(), {
      "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
      "grpc.max_send_message_length": -1,
      "grpc.initial_reconnect_backoff_ms": BASE_BACKOFF_DELAY_MS,
      "grpc.max_reconnect_backoff_ms": MAX_BACKOFF_DELAY_MS,
      "grpc-node.flow_control_window": FLOW_CONTROL_WINDOW,
      // A runtime is on this machine: no proxy leads to it.
      "grpc.enable_http_proxy": 0,
      "grpc.service_config_disable_resolution": 1,
      "grpc.enable_retries": 0,
      // Channels that are closed are closed, and none inherits another one's backoff.
      "grpc.use_local_subchannel_pool": 1,
      "grpc.enable_channelz": 0,
      "grpc.primary_user_agent": "kubelab",
    });
  }

  call<Req extends FieldTable, Res extends FieldTable>(
    rpc: UnaryRpc<Req, Res>,
    request: InitFields<Req>,
    options: CallOptions,
  ): Promise<RpcResult<DecodedFields<Res>>> {
    return new Promise((resolve, reject) => {
      if (options.signal?.aborted) return reject(options.signal.reason);
      if (this.#closing.signal.aborted) return resolve(CLOSED);
      const report = new CallReport(this.deps, this.endpoint, rpc, request);
      const call = this.#client.makeUnaryRequest(
        rpc.path,
        serializer(rpc),
        (bytes: Buffer) => rpc.response.decode(bytes),
        request,
        metadataFor(options),
        (error: ServiceError | null, value?: DecodedFields<Res>) => {
          watch.done();
          this.#live.delete(cancel);
          if (error === null && value !== undefined) {
            report.succeeded(value);
            return resolve({ outcome: "ok", value });
          }
          if (watch.givenUp === "aborted") {
            report.cancelled();
            return reject(options.signal?.reason);
          }
          const failure = this.#failure(error, watch, options);
          report.failed(failure);
          resolve(failure);
        },
      );
      const cancel = () => call.cancel();
      this.#live.add(cancel);
      const watch = new CallWatch(this.deps.clock, options, cancel);
    });
  }

  async *stream<Req extends FieldTable, Res extends FieldTable>(
    rpc: StreamRpc<Req, Res>,
    request: InitFields<Req>,
    options: CallOptions,
  ): AsyncGenerator<DecodedFields<Res>> {
    if (options.signal?.aborted) return;
    if (this.#closing.signal.aborted) throw new RpcError(CLOSED.code, CLOSED.message);
    const report = new CallReport(this.deps, this.endpoint, rpc, request);
    const stream: ClientReadableStream<DecodedFields<Res>> = this.#client.makeServerStreamRequest(
      rpc.path,
      serializer(rpc),
      (bytes: Buffer) => rpc.response.decode(bytes),
      request,
      metadataFor(options),
    );
    stream.once("metadata", () => report.began());
    const cancel = () => stream.cancel();
    this.#live.add(cancel);
    const watch = new CallWatch(this.deps.clock, options, cancel);
    let count = 0;
    try {
      for await (const value of stream) {
        count++;
        yield value as DecodedFields<Res>;
      }
      report.ended(count);
    } catch (error) {
      if (watch.givenUp === "aborted") {
        report.cancelled();
        return;
      }
      const failure = this.#failure(error as ServiceError, watch, options);
      report.failed(failure);
      throw new RpcError(failure.code, failure.message, { cause: error });
    } finally {
      watch.done();
      this.#live.delete(cancel);
      stream.cancel();
    }
  }

  #failure(error: ServiceError | null, watch: CallWatch, { timeoutMs }: CallOptions) {
    if (watch.givenUp === "timed-out") {
      return rpcFailure("DeadlineExceeded", `no answer within ${(timeoutMs ?? 0) / 1000} s`);
    }
    if (this.#closing.signal.aborted) return CLOSED;
    return rpcFailure(grpcCode(error?.code ?? 2), error?.details ?? error?.message ?? "no response");
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const cancel of this.#live) cancel();
    this.#client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const CLOSED = rpcFailure("Canceled", "the client was closed");

function serializer(rpc: AnyRpc): (request: Readonly<Record<string, unknown>>) => Buffer {
  return (request) => rpc.request.encode(request);
}

function metadataFor({ timeoutMs }: CallOptions): Metadata {
  const metadata = new Metadata();
  if (timeoutMs !== undefined) metadata.set("grpc-timeout", grpcTimeout(timeoutMs));
  return metadata;
}
