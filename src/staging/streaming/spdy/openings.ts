import type { Clock } from "../../../util/clock.js";
import type { Timer } from "../../../util/timer.js";
import { StreamError } from "../bytes.js";
import type { SpdyStream } from "./stream.js";

/**
 * The time limit for the peer's answer to a new stream. Mirrors
 * k8s.io/apimachinery/pkg/util/httpstream/spdy/connection.go (createStreamResponseTimeout).
 */
const CREATE_STREAM_RESPONSE_TIMEOUT_MS = 30_000;

interface Opening {
  readonly stream: SpdyStream;
  readonly deadlineMs: number;
  resolve(): void;
  reject(error: StreamError): void;
}

/** The streams that this side has opened and that are not answered yet. */
export class Openings {
  /** in order of their deadlines, because all have the same time limit */
  #waiting: Opening[] = [];
  #timer: Timer | undefined;

  constructor(readonly clock: Clock) {}

  /** @throws StreamError if the peer refuses or does not answer in time; the stream is reset then */
  wait(stream: SpdyStream): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const deadlineMs = this.clock.now() + CREATE_STREAM_RESPONSE_TIMEOUT_MS;
      this.#waiting.push({ stream, deadlineMs, resolve, reject });
      if (this.#timer === undefined) this.#watch();
    });
  }

  /** The peer has answered. */
  accepted(streamId: number): void {
    for (const { resolve } of this.#take(({ stream }) => stream.id === streamId)) resolve();
  }

  /** The peer refuses, or can no longer answer. */
  refused(why: () => StreamError, isMeant: (streamId: number) => boolean = () => true): void {
    this.#refuse(why, ({ stream }) => isMeant(stream.id));
  }

  #refuse(why: () => StreamError, isMeant: (opening: Opening) => boolean): void {
    for (const { stream, reject } of this.#take(isMeant)) {
      stream.reset();
      reject(why());
    }
  }

  /** They stop waiting. */
  #take(isMeant: (opening: Opening) => boolean): readonly Opening[] {
    if (this.#waiting.length === 0) return this.#waiting;
    const taken = this.#waiting.filter(isMeant);
    this.#waiting = this.#waiting.filter((one) => !taken.includes(one));
    if (this.#waiting.length === 0) this.#stopTimer();
    return taken;
  }

  /** One timer for all, because streams are opened several at once. */
  #watch(): void {
    const nowMs = this.clock.now();
    this.#refuse(
      () => new StreamError("Timeout occurred"),
      ({ deadlineMs }) => deadlineMs <= nowMs,
    );
    const [first] = this.#waiting;
    if (first !== undefined) this.#timer = this.clock.timer(first.deadlineMs - nowMs, () => this.#watch());
  }

  #stopTimer(): void {
    this.#timer?.stop();
    this.#timer = undefined;
  }
}
