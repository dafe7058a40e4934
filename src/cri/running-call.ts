import type { Abortable, AbortWatch, Deadlines, Waiter } from "../util/deadlines.js";
import type { CallOptions } from "./client.js";
import { MAX_MESSAGE_BYTES } from "./status.js";
import type { BufferPool } from "./transport/buffer-pool.js";
import type { ClientSession } from "./transport/client-session.js";
import { Exchange, type GrpcStatus } from "./transport/exchange.js";
import type { RequestHead } from "./transport/header-encoder.js";

/** What comes of a call. Exactly one of `ended` and `aborted` is called, unless the caller leaves. */
export interface CallSink {
  opened?(): void;
  /** the bytes are the sink's to keep */
  message(bytes: Buffer): void;
  /** the bytes hold only during the call */
  messageWithin(bytes: Buffer, from: number, to: number): void;
  ended(status: GrpcStatus): void;
  aborted(): void;
}

/** What the calls of a channel have in common. */
export interface CallsUnderWay {
  readonly live: Deadlines<RunningCall>;
  readonly aborts: AbortWatch;
  readonly pool: BufferPool;
}

/** One call from its start to its end, whoever ends it: the runtime, the deadline, the signal, the channel, the caller. */
export class RunningCall extends Exchange implements Waiter, Abortable {
  readonly signal: AbortSignal | undefined;
  readonly deadlineMs: number;

  constructor(
    readonly calls: CallsUnderWay,
    readonly options: CallOptions,
    readonly sink: CallSink,
  ) {
    super(MAX_MESSAGE_BYTES, calls.pool);
    const { signal, timeoutMs } = options;
    this.signal = signal;
    this.deadlineMs = timeoutMs === undefined ? Number.POSITIVE_INFINITY : calls.live.clock.now() + timeoutMs;
    calls.live.add(this);
    if (signal !== undefined) calls.aborts.watch(signal);
  }

  /** Sends the request, unless it is too late for that. */
  begin(session: ClientSession, head: RequestHead, request: Buffer): void {
    if (!this.isOver) this.send(session, head, request);
  }

  protected opened(): void {
    this.sink.opened?.();
  }

  message(bytes: Buffer): void {
    if (this.isOver) return;
    try {
      this.sink.message(bytes);
    } catch (error) {
      this.#isNoMessage(error);
    }
  }

  messageWithin(bytes: Buffer, from: number, to: number): void {
    if (this.isOver) return;
    try {
      this.sink.messageWithin(bytes, from, to);
    } catch (error) {
      this.#isNoMessage(error);
    }
  }

  #isNoMessage(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.endWith({ code: "Internal", message: `grpc: failed to unmarshal the received message: ${why}` });
  }

  finish(status: GrpcStatus): void {
    if (this.#over()) this.sink.ended(status);
  }

  giveUp(): void {
    const text = `context deadline exceeded (${(this.options.timeoutMs ?? 0) / 1000} s)`;
    this.endWith({ code: "DeadlineExceeded", message: text });
  }

  aborted(): void {
    this.cancel();
    if (this.#over()) this.sink.aborted();
  }

  /** Ends the call from this side. */
  endWith(status: GrpcStatus): void {
    this.cancel();
    this.finish(status);
  }

  /** The caller wants no more: the runtime is told, nobody else. */
  leave(): void {
    if (this.#over()) this.cancel();
  }

  /** @returns true the first time */
  #over(): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    this.calls.live.remove(this);
    return true;
  }
}
