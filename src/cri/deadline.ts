import { setMaxListeners } from "node:events";
import type { Clock } from "../util/clock.js";

/** Why a call was given up here, before the runtime answered. */
export type GivenUp = "aborted" | "timed-out";

/**
 * Watches over one call: `giveUp` is called once, when `signal` aborts or `timeoutMs` of the clock are over. The kubelet's
 * context.WithTimeout, on an injected clock.
 */
export class CallWatch {
  #givenUp: GivenUp | undefined;
  readonly #timer = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort: () => void;

  constructor(
    clock: Clock,
    options: { readonly timeoutMs?: number | undefined; readonly signal?: AbortSignal | undefined },
    giveUp: () => void,
  ) {
    const once = (why: GivenUp) => {
      if (this.#givenUp !== undefined || this.#timer.signal.aborted) return;
      this.#givenUp = why;
      this.done();
      giveUp();
    };
    this.#signal = options.signal;
    this.#onAbort = () => once("aborted");
    if (this.#signal !== undefined) {
      // As many calls as are under way listen to one signal, and each takes its listener back: not a leak.
      setMaxListeners(0, this.#signal);
      this.#signal.addEventListener("abort", this.#onAbort, { once: true });
    }
    if (options.timeoutMs !== undefined) {
      clock.sleep(options.timeoutMs, this.#timer.signal).then(
        () => once("timed-out"),
        () => {}, // the call ended first
      );
    }
  }

  get givenUp(): GivenUp | undefined {
    return this.#givenUp;
  }

  /** The call is over: no timer and no listener stays behind. */
  done(): void {
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#timer.abort();
  }
}

/** The header that tells the runtime how long it has: at most eight digits and a unit. */
export function grpcTimeout(timeoutMs: number): string {
  const ms = Math.max(1, Math.ceil(timeoutMs));
  if (ms < 100_000_000) return `${ms}m`;
  return `${Math.min(99_999_999, Math.ceil(ms / 1000))}S`;
}
