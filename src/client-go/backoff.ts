import type { Clock } from "../util/clock.js";

export interface BackoffOptions {
  /** the first wait, ms */
  readonly initialMs: number;
  /** no wait is longer, ms */
  readonly maxMs: number;
}

interface Entry {
  backoffMs: number;
  lastUpdateMs: number;
}

/**
 * How long to leave something alone after it failed: twice as long each time, forgotten after a quiet time of twice the
 * longest wait.
 *
 * Mirrors k8s.io/client-go/util/flowcontrol/backoff.go (Backoff). No jitter, as the kubelet's two have none.
 */
export class Backoff {
  readonly #entries = new Map<string, Entry>();

  constructor(
    readonly clock: Clock,
    readonly options: BackoffOptions,
  ) {}

  /** The wait that holds for `id`, ms; 0: none. Mirrors Get. */
  get(id: string): number {
    return this.#entries.get(id)?.backoffMs ?? 0;
  }

  /** Something failed at `eventTimeMs` (Unix ms): the next wait is twice as long. Mirrors Next. */
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

  /** Is the wait that began at `eventTimeMs` (Unix ms) not over yet? Mirrors IsInBackOffSince. */
  isInBackOffSince(id: string, eventTimeMs: number): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined || this.#hasExpired(eventTimeMs, entry.lastUpdateMs)) return false;
    return this.clock.now() - eventTimeMs < entry.backoffMs;
  }

  /** Is the wait since the last failure not over yet? Mirrors IsInBackOffSinceUpdate. */
  isInBackOffSinceUpdate(id: string, eventTimeMs: number): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined || this.#hasExpired(eventTimeMs, entry.lastUpdateMs)) return false;
    return eventTimeMs - entry.lastUpdateMs < entry.backoffMs;
  }

  reset(id: string): void {
    this.#entries.delete(id);
  }

  /** Forgets what has been quiet for twice the longest wait. Mirrors GC. */
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
