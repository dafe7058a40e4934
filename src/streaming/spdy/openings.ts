import type { Clock } from "../../util/clock.js";
import { StreamError } from "../bytes.js";
import type { SpdyStream } from "./stream.js";

/**
 * How long the peer has to answer a new stream.
 * Mirrors k8s.io/apimachinery/pkg/util/httpstream/spdy/connection.go (createStreamResponseTimeout).
 */
const CREATE_STREAM_RESPONSE_TIMEOUT_MS = 30_000;

interface Opening {
  readonly stream: SpdyStream;
  readonly deadlineMs: number;
  settle(error?: unknown): void;
}

/** The streams that this side has opened and the peer has not answered yet. */
export class Openings {
  /** in the order of their deadlines, as all have the same time */
  readonly #waiting: Opening[] = [];
  #timer: AbortController | undefined;

  constructor(readonly clock: Clock) {}

  /** @throws StreamError when the peer does not answer in time or says no, the signal's reason: the stream is reset then */
  wait(stream: SpdyStream, signal: AbortSignal | undefined): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const onAbort = () => settle(signal?.reason);
      const settle = (error?: unknown) => {
        const at = this.#waiting.findIndex((one) => one.stream === stream);
        if (at < 0) return;
        this.#waiting.splice(at, 1);
        if (this.#waiting.length === 0) this.#stopTimer();
        signal?.removeEventListener("abort", onAbort);
        if (error === undefined) {
          resolve();
        } else {
          stream.reset();
          reject(error);
        }
      };
      this.#waiting.push({ stream, deadlineMs: this.clock.now() + CREATE_STREAM_RESPONSE_TIMEOUT_MS, settle });
      signal?.addEventListener("abort", onAbort, { once: true });
      if (this.#timer === undefined) void this.#watch();
    });
  }

  /** The peer has answered. */
  accepted(streamId: number): void {
    this.#waiting.find(({ stream }) => stream.id === streamId)?.settle();
  }

  /** The peer says no, or cannot answer any more. */
  refused(why: () => StreamError, isMeant: (streamId: number) => boolean = () => true): void {
    if (this.#waiting.length === 0) return;
    for (const { stream, settle } of [...this.#waiting]) if (isMeant(stream.id)) settle(why());
  }

  /** One timer for all of them: streams are opened several at once. */
  async #watch(): Promise<void> {
    const timer = new AbortController();
    this.#timer = timer;
    try {
      for (let first = this.#waiting[0]; first !== undefined && !timer.signal.aborted; first = this.#waiting[0]) {
        const leftMs = first.deadlineMs - this.clock.now();
        if (leftMs <= 0) first.settle(new StreamError("Timeout occurred"));
        else await this.clock.sleep(leftMs, timer.signal);
      }
    } catch {
      // All were answered.
    }
  }

  #stopTimer(): void {
    this.#timer?.abort("answered");
    this.#timer = undefined;
  }
}
