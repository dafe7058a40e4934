import { type Client, type CallOptions as GrpcCallOptions, Metadata, type ServiceError } from "@grpc/grpc-js";
import { TRACEPARENT } from "../../trace/traceparent.js";
import { AbortWatch, Deadlines } from "../../util/async/deadlines.js";
import type { DecodedFields, FieldTable, InitFields } from "../apimachinery/protobuf/fields.js";
import { CallCauses } from "./call-causes.js";
import { type CriDeps, reportOf } from "./call-report.js";
import { Connection } from "./grpc/connection.js";
import { type Endpoint, parseEndpoint } from "./grpc/endpoint.js";
import { grpcTimeout } from "./grpc/grpc-timeout.js";
import type { Rpc, StreamRpc, UnaryRpc } from "./grpc/rpc.js";
import { type CallOptions, type CallsUnderWay, RunningCall } from "./grpc/running-call.js";
import { RpcError, type RpcFailure, type RpcResult, rpcFailure } from "./grpc/status.js";

/** A connection to a container runtime. It connects on the first call, and reconnects after the connection is lost. */
export interface CriChannel extends AsyncDisposable {
  readonly endpoint: Endpoint;
  readonly causes: CallCauses;
  /**
   * One call, one response. Errors of the runtime are values.
   * @throws the signal's reason
   */
  call<Req extends FieldTable, Res extends FieldTable>(
    rpc: UnaryRpc<Req, Res>,
    request: InitFields<Req>,
    options: CallOptions,
  ): Promise<RpcResult<DecodedFields<Res>>>;
  /**
   * The responses of a streaming call. Ends normally when the runtime ends it or `signal` aborts.
   * @throws RpcError when the runtime refuses it or the connection breaks
   */
  stream<Req extends FieldTable, Res extends FieldTable>(
    rpc: StreamRpc<Req, Res>,
    request: InitFields<Req>,
    options: CallOptions,
  ): AsyncGenerator<DecodedFields<Res>>;
  /** Ends all running calls with Canceled. */
  close(): Promise<void>;
}

const CLOSED = rpcFailure("Canceled", "the client was closed");
/** Bounds the cache: grace periods of pods can produce any number of timeouts. */
const MAX_TIMEOUTS = 64;
/** Shared by all calls, because deadlines and aborts are handled here. */
const NO_OPTIONS: GrpcCallOptions = {};

/**
 * Opens a channel; nothing is sent until the first call.
 * @throws LabError USAGE for an invalid endpoint
 */
export function openCriChannel(endpoint: string, deps: CriDeps): CriChannel {
  const parsed = parseEndpoint(endpoint);
  if (parsed.kind === "unix" && parsed.warning !== undefined) {
    deps.trace.emit({ kind: "note", text: parsed.warning }, { actor: deps.actor, level: 0 });
  }
  return new GrpcChannel(parsed, deps);
}

/** The parts that grpc-js needs for the calls of one rpc. */
interface Codec<Req extends FieldTable, Res extends FieldTable> {
  readonly serialize: (request: InitFields<Req>) => Buffer;
  readonly deserialize: (bytes: Buffer) => DecodedFields<Res>;
}

class GrpcChannel implements CriChannel, CallsUnderWay {
  readonly #connection: Connection;
  readonly live: Deadlines<RunningCall>;
  readonly aborts: AbortWatch;
  readonly causes = new CallCauses();
  /** by rpc */
  readonly #codecs = new WeakMap<object, object>();
  /** by timeout in ms */
  readonly #metadata = new Map<number | undefined, Metadata>();
  #isClosed = false;

  constructor(
    readonly endpoint: Endpoint,
    readonly deps: CriDeps,
  ) {
    this.#connection = new Connection(endpoint, deps.clock);
    this.live = new Deadlines(deps.clock);
    this.aborts = new AbortWatch(this.live);
  }

  call<Req extends FieldTable, Res extends FieldTable>(
    rpc: UnaryRpc<Req, Res>,
    request: InitFields<Req>,
    options: CallOptions,
  ): Promise<RpcResult<DecodedFields<Res>>> {
    return new Promise((resolve, reject) => {
      const { signal, timeoutMs } = options;
      if (signal?.aborted) return reject(signal.reason);
      const report = reportOf(this.deps, this, rpc, request);
      const call = new RunningCall(this, options, {
        failed(failure) {
          report?.failed(failure);
          resolve(failure);
        },
        aborted() {
          report?.cancelled();
          reject(signal?.reason);
        },
      });
      const client = this.#client();
      if ("outcome" in client) return call.fail(client);
      const { serialize, deserialize } = this.#codecOf(rpc);
      const answered = (error: ServiceError | null, value?: DecodedFields<Res>) => {
        if (error !== null) return call.fail(this.#connection.failureOf(client, error));
        if (value === undefined || !call.end()) return;
        report?.succeeded(value);
        resolve({ outcome: "ok", value });
      };
      const metadata = this.#metadataFor(timeoutMs, report?.traceparent);
      call.started(client.makeUnaryRequest(rpc.path, serialize, deserialize, request, metadata, NO_OPTIONS, answered));
    });
  }

  async *stream<Req extends FieldTable, Res extends FieldTable>(
    rpc: StreamRpc<Req, Res>,
    request: InitFields<Req>,
    options: CallOptions,
  ): AsyncGenerator<DecodedFields<Res>> {
    const { signal, timeoutMs } = options;
    if (signal?.aborted) return;
    const report = reportOf(this.deps, this, rpc, request);
    let failure: RpcFailure | undefined;
    const call = new RunningCall(this, options, {
      failed(why) {
        report?.failed(why);
        failure = why;
      },
      aborted: () => report?.cancelled(),
    });
    const client = this.#client();
    if ("outcome" in client) {
      call.fail(client);
      throw new RpcError(client.code, client.message);
    }
    const { serialize, deserialize } = this.#codecOf(rpc);
    const metadata = this.#metadataFor(timeoutMs, report?.traceparent);
    const messages = client
      .makeServerStreamRequest(rpc.path, serialize, deserialize, request, metadata, NO_OPTIONS)
      .once("metadata", () => report?.began())
      // Stays after the reader has left, since a cancelled call also ends with an error.
      .on("error", (error: ServiceError) => call.fail(this.#connection.failureOf(client, error)));
    call.started(messages);
    let count = 0;
    try {
      for await (const value of messages as AsyncIterable<DecodedFields<Res>>) {
        if (signal?.aborted) return;
        count++;
        yield value;
      }
      if (call.end()) report?.ended(count);
      else if (failure !== undefined) throw new RpcError(failure.code, failure.message);
    } catch (error) {
      if (signal?.aborted) return;
      throw failure === undefined || error instanceof RpcError ? error : new RpcError(failure.code, failure.message);
    } finally {
      call.leave();
    }
  }

  #client(): Client | RpcFailure {
    return this.#isClosed ? CLOSED : this.#connection.get();
  }

  #codecOf<Req extends FieldTable, Res extends FieldTable>(rpc: Rpc<Req, Res>): Codec<Req, Res> {
    let codec = this.#codecs.get(rpc) as Codec<Req, Res> | undefined;
    if (codec === undefined) {
      const { request, response } = rpc;
      codec = { serialize: (value) => request.encode(value), deserialize: (bytes) => response.decode(bytes) };
      this.#codecs.set(rpc, codec);
    }
    return codec;
  }

  #metadataFor(timeoutMs: number | undefined, traceparent: string | undefined): Metadata {
    const shared = this.#sharedMetadata(timeoutMs);
    if (traceparent === undefined) return shared;
    const own = shared.clone();
    own.set(TRACEPARENT, traceparent);
    return own;
  }

  #sharedMetadata(timeoutMs: number | undefined): Metadata {
    let metadata = this.#metadata.get(timeoutMs);
    if (metadata === undefined) {
      metadata = new Metadata();
      if (timeoutMs !== undefined) metadata.set("grpc-timeout", grpcTimeout(timeoutMs));
      if (this.#metadata.size >= MAX_TIMEOUTS) this.#metadata.clear();
      this.#metadata.set(timeoutMs, metadata);
    }
    return metadata;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const call of [...this.live]) call.cancel(CLOSED);
    this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
