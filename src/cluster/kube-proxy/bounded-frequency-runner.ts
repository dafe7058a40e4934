import { runInScope, type Scope } from "../../trace/scope.js";
import type { Trace } from "../../trace/trace.js";
import { Waker } from "../../util/async/waker.js";
import type { Clock } from "../../util/clock.js";

export interface FrequencyLimits {
  /** the time between runs once the burst is used up */
  readonly minIntervalMs: number;
  /** the number of runs in a burst */
  readonly burst: number;
  /** the delay before a failed run is repeated */
  readonly retryMs: number;
}

/**
 * Runs a function soon after a request, but not too often. All requests during a wait share one run.
 *
 * Mirrors pkg/util/async/bounded_frequency_runner.go. Differs: no runs without a request, except after a failure.
 */
export class BoundedFrequencyRunner {
  readonly #waker = new Waker();
  /** the cause of the next run: that of the first request */
  #scope: Scope | undefined;
  #tokens: number;
  #filledMs = 0;

  /** @param body returns whether it succeeded */
  constructor(
    readonly deps: { readonly clock: Clock; readonly trace: Trace },
    readonly limits: FrequencyLimits,
    readonly body: () => Promise<boolean>,
  ) {
    this.#tokens = limits.burst;
  }

  runSoon(): void {
    this.#scope ??= this.deps.trace.keepScope().scope;
    this.#waker.wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    let retryAtMs: number | undefined;
    for (;;) {
      await this.#waker.wait(clock, retryAtMs, signal);
      const waitMs = this.#waitMs();
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      this.#takeToken();
      this.#waker.forget();
      const scope = this.#scope;
      this.#scope = undefined;
      const isDone = await runInScope(scope, () => this.body());
      retryAtMs = isDone ? undefined : clock.now() + this.limits.retryMs;
    }
  }

  #waitMs(): number {
    const { minIntervalMs, burst } = this.limits;
    const nowMs = this.deps.clock.now();
    if (minIntervalMs === 0) return 0;
    const filled = Math.floor((nowMs - this.#filledMs) / minIntervalMs);
    if (filled > 0) {
      this.#tokens = Math.min(burst, this.#tokens + filled);
      this.#filledMs = this.#tokens === burst ? nowMs : this.#filledMs + filled * minIntervalMs;
    }
    return this.#tokens > 0 ? 0 : this.#filledMs + minIntervalMs - nowMs;
  }

  #takeToken(): void {
    // A wait ends when the next token is available.
    this.#waitMs();
    this.#tokens = Math.max(0, this.#tokens - 1);
  }
}
