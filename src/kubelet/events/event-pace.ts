import { factFor } from "../../release/facts.js";
import type { Clock } from "../../util/clock.js";

/**
 * How fast a kubelet writes Events: some at once, then so many a second. A node that gets a hundred pods at once starts
 * them first and tells of it over the next minute.
 *
 * Mirrors k8s.io/client-go/util/flowcontrol/throttle.go (tokenBucketRateLimiter) as the kubelet's EventClient has it.
 */
export class EventPace {
  #tokens: number;
  #refilledMs: number;

  /** @param signal when it aborts, nobody waits any more: what is left goes out at once */
  constructor(
    readonly clock: Clock,
    readonly kubeVersion: string,
    readonly signal: AbortSignal,
  ) {
    this.#tokens = factFor("eventBurst", kubeVersion);
    this.#refilledMs = clock.now();
  }

  /** Resolves when it is the next event's turn. To be called by one at a time. */
  async turn(): Promise<void> {
    const perMs = factFor("eventRecordQps", this.kubeVersion) / 1_000;
    this.#refill(perMs);
    if (this.#tokens < 1 && !this.signal.aborted) {
      // Only an abort is thrown: the kubelet ends.
      await this.clock.sleep((1 - this.#tokens) / perMs, this.signal).catch(() => undefined);
      this.#refill(perMs);
    }
    this.#tokens = Math.max(0, this.#tokens - 1);
  }

  #refill(perMs: number): void {
    const nowMs = this.clock.now();
    const burst = factFor("eventBurst", this.kubeVersion);
    this.#tokens = Math.min(burst, this.#tokens + (nowMs - this.#refilledMs) * perMs);
    this.#refilledMs = nowMs;
  }
}
