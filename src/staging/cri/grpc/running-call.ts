import type { Abortable, AbortWatch, Deadlines, Waiter } from "../../../util/async/deadlines.js";
import { type RpcFailure, rpcFailure } from "./status.js";

export interface CallOptions {
  /** ms of the clock; none by default */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Receives the end of a call without a response. One method is called once, or none if the caller leaves first. */
export interface CallSink {
  failed(failure: RpcFailure): void;
  aborted(): void;
}

/** The shared parts of a channel's calls. */
export interface CallsUnderWay {
  readonly live: Deadlines<RunningCall>;
  readonly aborts: AbortWatch;
}

/** A running call. The runtime, the deadline, the signal, the channel or the caller ends it, once. */
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

  /** @param grpcCall grpc-js's call */
  started(grpcCall: { cancel(): void }): void {
    this.#grpcCall = grpcCall;
  }

  /** Marks the call as ended. @returns false if it had already ended */
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

  /** Cancels the call in the runtime and fails it here. */
  cancel(failure: RpcFailure): void {
    if (!this.end()) return;
    this.#grpcCall?.cancel();
    this.sink.failed(failure);
  }

  /** Cancels a call that is still running because its caller has left. */
  leave(): void {
    if (this.end()) this.#grpcCall?.cancel();
  }
}
