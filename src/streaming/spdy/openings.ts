import type { Clock, Timer } from "../../util/clock.js";
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
  resolve(): void;
  reject(error: StreamError): void;
}

/** The streams that this side has opened and the peer has not answered yet. */
export class Openings {
  /** in the order of their deadlines, as all have the same time */
  #waiting: Opening[] = [];
  #timer: Timer | undefined;

  constructor(readonly clock: Clock) {}

  /** @throws StreamError when the peer does not answer in time or says no: the stream is reset then */
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

  /** The peer says no, or cannot answer any more. */
  refused(why: () => StreamError, isMeant: (streamId: number) => boolean = () => true): void {
    this.#refuse(why, ({ stream }) => isMeant(stream.id));
  }

  #refuse(why: () => StreamError, isMeant: (opening: Opening) => boolean): void {
    for (const { stream, reject } of this.#take(isMeant)) {
      stream.reset();
      reject(why());
    }
  }

  /** They wait no more. */
  #take(isMeant: (opening: Opening) => boolean): readonly Opening[] {
    if (this.#waiting.length === 0) return this.#waiting;
    const taken = this.#waiting.filter(isMeant);
    this.#waiting = this.#waiting.filter((one) => !taken.includes(one));
    if (this.#waiting.length === 0) this.#stopTimer();
    return taken;
  }

  /** One timer for all of them: streams are opened several at once. */
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
