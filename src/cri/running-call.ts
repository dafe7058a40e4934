import type { Abortable, AbortWatch, Deadlines, Waiter } from "../util/deadlines.js";
import type { CallOptions } from "./client.js";
import { type RpcFailure, rpcFailure } from "./status.js";

/** What becomes of a call that ends without its response. Exactly one of them is called, unless the caller leaves. */
export interface CallSink {
  failed(failure: RpcFailure): void;
  aborted(): void;
}

/** What the calls of a channel share. */
export interface CallsUnderWay {
  readonly live: Deadlines<RunningCall>;
  readonly aborts: AbortWatch;
}

/** One call from start to end. It ends once: by the runtime, the deadline, the signal, the channel or the caller. */
export class RunningCall implements Waiter, Abortable {
  readonly signal: AbortSignal | undefined;
  readonly deadlineMs: number;
  #grpcCall: { cancel(): void } | undefined;
  #isOver = false;

  constructor(
    readonly calls: CallsUnderWay,
    readonly options: CallOptions,
    readonly sink: CallSink,
  ) {
    const { signal, timeoutMs } = options;
    this.signal = signal;
    this.deadlineMs = timeoutMs === undefined ? Number.POSITIVE_INFINITY : calls.live.clock.now() + timeoutMs;
    calls.live.add(this);
    if (signal !== undefined) calls.aborts.watch(signal);
  }

  /** @param grpcCall the call as grpc-js has it, just started */
  started(grpcCall: { cancel(): void }): void {
    this.#grpcCall = grpcCall;
  }

  /** Ends the call. @returns false when it has ended before */
  end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.calls.live.remove(this);
    return true;
  }

  fail(failure: RpcFailure): void {
    if (this.end()) this.sink.failed(failure);
  }

  giveUp(): void {
    const text = `context deadline exceeded (${(this.options.timeoutMs ?? 0) / 1000} s)`;
    this.cancel(rpcFailure("DeadlineExceeded", text));
  }

  aborted(): void {
    if (!this.end()) return;
    this.#grpcCall?.cancel();
    this.sink.aborted();
  }

  /** Cancels the call in the runtime, and fails it here. */
  cancel(failure: RpcFailure): void {
    if (!this.end()) return;
    this.#grpcCall?.cancel();
    this.sink.failed(failure);
  }

  /** The caller leaves a call that may still be running: cancels it in the runtime. */
  leave(): void {
    if (this.end()) this.#grpcCall?.cancel();
  }
}
