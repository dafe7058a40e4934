import type { DecodedFields, FieldTable, InitFields } from "../protobuf/fields.js";
import type { Actor } from "../trace/events.js";
import type { Trace } from "../trace/trace.js";
import { AsyncQueue } from "../util/async-queue.js";
import { Bag } from "../util/bag.js";
import type { Clock } from "../util/clock.js";
import { AbortWatch, Deadlines } from "../util/deadlines.js";
import { CallReport } from "./call-report.js";
import { type Endpoint, parseEndpoint } from "./endpoint.js";
import { grpcTimeout } from "./grpc-timeout.js";
import type { StreamRpc, UnaryRpc } from "./rpc.js";
import { type CallableRpc, type CallSink, RunningCall } from "./running-call.js";
import { RpcError, type RpcFailure, type RpcResult, rpcFailure } from "./status.js";
import { BufferPool } from "./transport/buffer-pool.js";
import { Connection } from "./transport/connection.js";
import { type GrpcStatus, requestHead } from "./transport/exchange.js";
import type { RequestHead } from "./transport/header-encoder.js";

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
  /** Ends what is under way: those calls are Canceled. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Messages of a stream that wait for their reader before the runtime is told to stop. */
const STREAM_BACKLOG = 256;

const MAX_HEADS = 200;

const CLOSED = rpcFailure("Canceled", "the client was closed");

/**
 * Opens a channel; nothing is sent until the first call.
 *
 * Mirrors pkg/kubelet/cri/remote/remote_runtime.go (NewRemoteRuntimeService): no TLS, messages of up to 16 MB, its backoff.
 * Differs: gRPC is spoken by `transport/`, as the library for Node spends several times as long on a call.
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
  readonly #connection: Connection;
  readonly #deadlines: Deadlines;
  readonly #aborts = new AbortWatch();
  readonly #pool = new BufferPool();
  /** heads of calls, by path and timeout */
  readonly #heads = new Map<string, RequestHead>();
  /** gives a message's buffer back once it is read */
  readonly #release = (bytes: Buffer) => this.#pool.give(bytes);
  /** calls that are under way */
  readonly #live = new Bag<RunningCall>();
  #closing = false;

  constructor(
    readonly endpoint: Endpoint,
    readonly deps: CriDeps,
  ) {
    this.#connection = new Connection(endpoint, deps.clock);
    this.#deadlines = new Deadlines(deps.clock);
  }

  call<Req extends FieldTable, Res extends FieldTable>(
    rpc: UnaryRpc<Req, Res>,
    request: InitFields<Req>,
    options: CallOptions,
  ): Promise<RpcResult<DecodedFields<Res>>> {
    return new Promise((resolve, reject) => {
      if (options.signal?.aborted) return reject(options.signal.reason);
      const report = new CallReport(this.deps, this.endpoint, rpc, request);
      let value: DecodedFields<Res> | undefined;
      this.#start(rpc, request, options, {
        message: (bytes) => {
          value = rpc.response.decodeAndRelease(bytes, this.#release);
        },
        ended: (status) => {
          if (status.code === "OK" && value !== undefined) {
            report.succeeded(value);
            return resolve({ outcome: "ok", value });
          }
          const failure = failureOf(status);
          report.failed(failure);
          resolve(failure);
        },
        aborted: () => {
          report.cancelled();
          reject(options.signal?.reason);
        },
      });
    });
  }

  async *stream<Req extends FieldTable, Res extends FieldTable>(
    rpc: StreamRpc<Req, Res>,
    request: InitFields<Req>,
    options: CallOptions,
  ): AsyncGenerator<DecodedFields<Res>> {
    if (options.signal?.aborted) return;
    const report = new CallReport(this.deps, this.endpoint, rpc, request);
    const queue = new AsyncQueue<DecodedFields<Res>>();
    let count = 0;
    const call = this.#start(rpc, request, options, {
      opened: () => report.began(),
      message: (bytes) => {
        count++;
        queue.push(rpc.response.decodeAndRelease(bytes, this.#release));
        if (queue.size >= STREAM_BACKLOG) call.pause();
      },
      ended: (status) => {
        if (status.code === "OK") {
          report.ended(count);
          return queue.close();
        }
        const failure = failureOf(status);
        report.failed(failure);
        queue.fail(new RpcError(failure.code, failure.message));
      },
      aborted: () => {
        report.cancelled();
        queue.close();
      },
    });
    try {
      for await (const value of queue.iterate()) {
        // After an abort nothing more is handed out, as nothing more is asked for.
        if (options.signal?.aborted) return;
        yield value;
        if (queue.size === 0) call.resume();
      }
    } finally {
      call.leave();
    }
  }

  /** Runs one call over the connection; exactly one of `ended` and `aborted` is told, unless the caller leaves. */
  #start(rpc: CallableRpc, request: object, options: CallOptions, sink: CallSink): RunningCall {
    const body = rpc.request.encode(request);
    const head = this.#headFor(rpc.path, options.timeoutMs);
    const call = new RunningCall(options, sink, this.#deadlines, this.#aborts, this.#live, this.#pool);
    if (this.#closing) call.finish(CLOSED);
    else {
      const session = this.#connection.ready;
      if (session !== undefined) call.begin(session, head, body);
      else {
        this.#connection.connect().then(
          (fresh) => call.begin(fresh, head, body),
          (error: unknown) => call.finish(statusOf(error)),
        );
      }
    }
    return call;
  }

  /** Made once for each rpc and timeout; timeouts are few, but nobody promises that. */
  #headFor(path: string, timeoutMs: number | undefined): RequestHead {
    const key = `${path} ${timeoutMs}`;
    let head = this.#heads.get(key);
    if (head === undefined) {
      head = requestHead(path, timeoutMs === undefined ? undefined : grpcTimeout(timeoutMs));
      if (this.#heads.size >= MAX_HEADS) this.#heads.clear();
      this.#heads.set(key, head);
    }
    return head;
  }

  async close(): Promise<void> {
    this.#closing = true;
    for (const call of [...this.#live]) call.endWith(CLOSED);
    this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function failureOf({ code, message }: GrpcStatus): RpcFailure {
  // OK without a message: the call is not what the table says it is.
  return code === "OK" ? rpcFailure("Internal", "the response has no message") : rpcFailure(code, message);
}

function statusOf(error: unknown): GrpcStatus {
  return error instanceof RpcError
    ? { code: error.code, message: error.message }
    : { code: "Unknown", message: String(error) };
}
