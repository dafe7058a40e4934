import type { DecodedFields, FieldTable, InitFields } from "../apimachinery/protobuf/fields.js";
import type { Actor } from "../trace/events.js";
import type { Trace } from "../trace/trace.js";
import { AsyncQueue } from "../util/async-queue.js";
import type { Clock } from "../util/clock.js";
import { AbortWatch, Deadlines } from "../util/deadlines.js";
import { reportOf } from "./call-report.js";
import { type Endpoint, parseEndpoint } from "./endpoint.js";
import { grpcTimeout } from "./grpc-timeout.js";
import type { StreamRpc, UnaryRpc } from "./rpc.js";
import { type CallSink, type CallsUnderWay, RunningCall } from "./running-call.js";
import { RpcError, type RpcResult, rpcFailure } from "./status.js";
import { BufferPool } from "./transport/buffer-pool.js";
import { Connection } from "./transport/connection.js";
import { type GrpcStatus, requestHead } from "./transport/exchange.js";
import type { RequestHead } from "./transport/header-encoder.js";
import { PREFIX_BYTES, putPrefix } from "./transport/message-reader.js";
import { failureOf, UnaryCall } from "./unary-call.js";

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

/** As much of an rpc as sending it takes. */
interface CallableRpc {
  readonly path: string;
  readonly request: { encode(value: object, headroom: number): Buffer };
}

/** Messages of a stream that wait for their reader before the runtime is told to stop. */
const STREAM_BACKLOG = 256;

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

class GrpcChannel implements CriChannel, CallsUnderWay {
  readonly #connection: Connection;
  readonly live: Deadlines<RunningCall>;
  readonly aborts: AbortWatch;
  readonly pool = new BufferPool();
  /** heads of calls, by path */
  readonly #heads = new Map<string, { readonly timeoutMs: number; readonly head: RequestHead }>();
  /** gives a message's buffer back once it is read */
  readonly #release = (bytes: Buffer) => this.pool.give(bytes);
  #closing = false;

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
      const { signal } = options;
      if (signal?.aborted) return reject(signal.reason);
      const report = reportOf(this.deps, this.endpoint, rpc, request);
      this.#start(rpc, request, options, new UnaryCall(rpc.response, this.#release, report, signal, resolve, reject));
    });
  }

  async *stream<Req extends FieldTable, Res extends FieldTable>(
    rpc: StreamRpc<Req, Res>,
    request: InitFields<Req>,
    options: CallOptions,
  ): AsyncGenerator<DecodedFields<Res>> {
    if (options.signal?.aborted) return;
    const report = reportOf(this.deps, this.endpoint, rpc, request);
    const queue = new AsyncQueue<DecodedFields<Res>>();
    let count = 0;
    const take = (value: DecodedFields<Res>) => {
      count++;
      queue.push(value);
      if (queue.size >= STREAM_BACKLOG) call.pause();
    };
    const call = this.#start(rpc, request, options, {
      opened: () => report?.began(),
      message: (bytes) => take(rpc.response.decodeAndRelease(bytes, this.#release)),
      messageWithin: (bytes, from, to) => take(rpc.response.decodeWithin(bytes, from, to)),
      ended: (status) => {
        if (status.code === "OK") {
          report?.ended(count);
          return queue.close();
        }
        const failure = failureOf(status);
        report?.failed(failure);
        queue.fail(new RpcError(failure.code, failure.message));
      },
      aborted: () => {
        report?.cancelled();
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
    const body = putPrefix(rpc.request.encode(request, PREFIX_BYTES));
    const head = this.#headFor(rpc, options.timeoutMs);
    const call = new RunningCall(this, options, sink);
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

  /** Made when an rpc has another timeout than the last time, which hardly any ever has. */
  #headFor({ path }: CallableRpc, timeoutMs = Number.POSITIVE_INFINITY): RequestHead {
    const known = this.#heads.get(path);
    if (known?.timeoutMs === timeoutMs) return known.head;
    const head = requestHead(path, timeoutMs === Number.POSITIVE_INFINITY ? undefined : grpcTimeout(timeoutMs));
    this.#heads.set(path, { timeoutMs, head });
    return head;
  }

  async close(): Promise<void> {
    this.#closing = true;
    for (const call of [...this.live]) call.endWith(CLOSED);
    this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function statusOf(error: unknown): GrpcStatus {
  return error instanceof RpcError
    ? { code: error.code, message: error.message }
    : { code: "Unknown", message: String(error) };
}
