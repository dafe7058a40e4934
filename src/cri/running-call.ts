import type { Bag } from "../util/bag.js";
import type { AbortWatch, Deadlines, Waiter } from "../util/deadlines.js";
import type { CallOptions } from "./client.js";
import { MAX_MESSAGE_BYTES } from "./status.js";
import type { BufferPool } from "./transport/buffer-pool.js";
import type { ClientSession } from "./transport/client-session.js";
import { type Exchange, type ExchangeSink, type GrpcStatus, startExchange } from "./transport/exchange.js";
import type { RequestHead } from "./transport/header-encoder.js";

/** As much of an rpc as sending it takes. */
export interface CallableRpc {
  readonly path: string;
  readonly request: { encode(value: object): Buffer };
}

/** Exactly one of `ended` and `aborted` is called, unless the caller leaves. */
export interface CallSink {
  opened?(): void;
  message(bytes: Buffer): void;
  ended(status: GrpcStatus): void;
  aborted(): void;
}

/** One call from its start to its end, whoever ends it: the runtime, the deadline, the signal, the channel, the caller. */
export class RunningCall implements ExchangeSink {
  #isOver = false;
  #exchange: Exchange | undefined;
  readonly #waiter: Waiter | undefined;
  readonly #onAbort = () => {
    this.#exchange?.cancel();
    if (this.#over()) this.sink.aborted();
  };

  constructor(
    readonly options: CallOptions,
    readonly sink: CallSink,
    readonly deadlines: Deadlines,
    readonly aborts: AbortWatch,
    readonly live: Bag<RunningCall>,
    readonly pool: BufferPool,
  ) {
    const { signal, timeoutMs } = options;
    live.add(this);
    if (signal !== undefined) aborts.add(signal, this.#onAbort);
    if (timeoutMs !== undefined) {
      const text = `context deadline exceeded (${timeoutMs / 1000} s)`;
      this.#waiter = deadlines.add(timeoutMs, () => this.endWith({ code: "DeadlineExceeded", message: text }));
    }
  }

  /** Sends the request, unless it is too late for that. */
  begin(session: ClientSession, requestHead: RequestHead, request: Buffer): void {
    if (this.#isOver) return;
    const head = { request: requestHead, maxMessageBytes: MAX_MESSAGE_BYTES, pool: this.pool };
    const exchange = startExchange(session, head, request, this);
    if (this.#isOver) return;
    this.#exchange = exchange;
  }

  opened(): void {
    if (!this.#isOver) this.sink.opened?.();
  }

  message(bytes: Buffer): void {
    if (this.#isOver) return;
    try {
      this.sink.message(bytes);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.endWith({ code: "Internal", message: `grpc: failed to unmarshal the received message: ${why}` });
    }
  }

  ended(status: GrpcStatus): void {
    this.finish(status);
  }

  finish(status: GrpcStatus): void {
    if (this.#over()) this.sink.ended(status);
  }

  /** Ends the call from this side. */
  endWith(status: GrpcStatus): void {
    this.#exchange?.cancel();
    this.finish(status);
  }

  /** The caller wants no more: the runtime is told, nobody else. */
  leave(): void {
    if (this.#over()) this.#exchange?.cancel();
  }

  pause(): void {
    this.#exchange?.pause();
  }

  resume(): void {
    this.#exchange?.resume();
  }

  /** @returns true the first time */
  #over(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.live.delete(this);
    if (this.#waiter !== undefined) this.deadlines.remove(this.#waiter);
    if (this.options.signal !== undefined) this.aborts.remove(this.options.signal, this.#onAbort);
    return true;
  }
}
