import { NumberedBag } from "../../util/bag.js";
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
  settle(error?: unknown): void;
}

/** The streams that this side has opened and the peer has not answered yet. */
export class Openings {
  readonly #waiting = new NumberedBag<Opening>();

  constructor(readonly clock: Clock) {}

  /** @throws StreamError when the peer does not answer in time or says no, the signal's reason: the stream is reset then */
  wait(stream: SpdyStream, signal: AbortSignal | undefined): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const timer = new AbortController();
      const onAbort = () => settle(signal?.reason);
      const settle = (error?: unknown) => {
        if (!this.#waiting.delete(stream.id)) return;
        timer.abort();
        signal?.removeEventListener("abort", onAbort);
        if (error === undefined) {
          resolve();
        } else {
          stream.reset();
          reject(error);
        }
      };
      this.#waiting.set(stream.id, { stream, settle });
      signal?.addEventListener("abort", onAbort, { once: true });
      this.clock.sleep(CREATE_STREAM_RESPONSE_TIMEOUT_MS, timer.signal).then(
        () => settle(new StreamError("Timeout occurred")),
        () => {
          // Answered before.
        },
      );
    });
  }

  /** The peer has answered. */
  accepted(streamId: number): void {
    this.#waiting.get(streamId)?.settle();
  }

  /** The peer says no, or cannot answer any more. */
  refused(error: StreamError, isMeant: (streamId: number) => boolean): void {
    for (const { stream, settle } of [...this.#waiting.values()]) if (isMeant(stream.id)) settle(error);
  }
}
