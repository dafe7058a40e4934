import type { Clock } from "../../../util/clock.js";
import { factFor } from "../../../util/release/facts.js";

/**
 * How fast a kubelet writes Events: a burst, then a fixed rate per second. A node that gets a hundred pods at once starts
 * them first and writes their events over the next minute.
 *
 * Mirrors k8s.io/client-go/util/flowcontrol/throttle.go (tokenBucketRateLimiter) as the kubelet's EventClient has it.
 */
export class EventPace {
  #tokens: number;
  #refilledMs: number;

  /** @param signal its abort ends all waits: the remaining events are written at once */
  constructor(
    readonly clock: Clock,
    readonly kubeVersion: string,
    readonly signal: AbortSignal,
  ) {
    this.#tokens = factFor("eventBurst", kubeVersion);
    this.#refilledMs = clock.now();
  }

  /** Resolves when the next event may be written. One caller at a time. */
  async turn(): Promise<void> {
    const perMs = factFor("eventRecordQps", this.kubeVersion) / 1_000;
    this.#refill(perMs);
    if (this.#tokens < 1 && !this.signal.aborted) {
      // sleep throws only on an abort, when the kubelet stops.
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
