import type { Clock } from "../../util/clock.js";

export interface BackoffOptions {
  /** the first wait in ms */
  readonly initialMs: number;
  /** the longest wait in ms */
  readonly maxMs: number;
}

interface Entry {
  backoffMs: number;
  lastUpdateMs: number;
}

/**
 * Waits that double with each failure, by ID. An ID is forgotten after a quiet time of twice the longest wait.
 *
 * Mirrors k8s.io/client-go/util/flowcontrol/backoff.go (Backoff). No jitter, as in both backoffs of the kubelet.
 */
export class Backoff {
  readonly #entries = new Map<string, Entry>();

  constructor(
    readonly clock: Clock,
    readonly options: BackoffOptions,
  ) {}

  /** The current wait for `id` in ms; 0 without a failure. Mirrors Get. */
  get(id: string): number {
    return this.#entries.get(id)?.backoffMs ?? 0;
  }

  /** Records a failure at `eventTimeMs` (Unix ms): doubles the wait. Mirrors Next. */
  next(id: string, eventTimeMs: number): void {
    const nowMs = this.clock.now();
    const entry = this.#entries.get(id);
    if (entry === undefined || this.#hasExpired(eventTimeMs, entry.lastUpdateMs)) {
      this.#entries.set(id, { backoffMs: this.options.initialMs, lastUpdateMs: nowMs });
      return;
    }
    entry.backoffMs = Math.min(entry.backoffMs * 2, this.options.maxMs);
    entry.lastUpdateMs = nowMs;
  }

  /** Reports whether the wait that began at `eventTimeMs` (Unix ms) still runs. Mirrors IsInBackOffSince. */
  isInBackOffSince(id: string, eventTimeMs: number): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined || this.#hasExpired(eventTimeMs, entry.lastUpdateMs)) return false;
    return this.clock.now() - eventTimeMs < entry.backoffMs;
  }

  /** Reports whether the wait since the last failure still runs. Mirrors IsInBackOffSinceUpdate. */
  isInBackOffSinceUpdate(id: string, eventTimeMs: number): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined || this.#hasExpired(eventTimeMs, entry.lastUpdateMs)) return false;
    return eventTimeMs - entry.lastUpdateMs < entry.backoffMs;
  }

  reset(id: string): void {
    this.#entries.delete(id);
  }

  /** Forgets IDs that have been quiet for twice the longest wait. Mirrors GC. */
  gc(): void {
    const nowMs = this.clock.now();
    for (const [id, { lastUpdateMs }] of this.#entries) {
      if (nowMs - lastUpdateMs > this.options.maxMs * 2) this.#entries.delete(id);
    }
  }

  #hasExpired(eventTimeMs: number, lastUpdateMs: number): boolean {
    return eventTimeMs - lastUpdateMs > this.options.maxMs * 2;
  }
}
