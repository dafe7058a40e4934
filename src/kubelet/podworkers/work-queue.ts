import type { Clock } from "../../util/clock.js";

/** The queue of pods that are due for a sync later. */
export interface WorkQueue {
  /** Enqueuing again overwrites the time. */
  enqueue(podUid: string, delayMs: number): void;
}

/**
 * Pods that need another sync after a delay; the sync loop takes due ones once a second.
 *
 * Mirrors pkg/kubelet/util/queue/work_queue.go (basicWorkQueue).
 */
export class BasicWorkQueue implements WorkQueue {
  readonly #dueMs = new Map<string, number>();

  constructor(readonly clock: Clock) {}

  get size(): number {
    return this.#dueMs.size;
  }

  /** Unix ms at which a pod is due; undefined if it is not queued */
  dueMs(podUid: string): number | undefined {
    return this.#dueMs.get(podUid);
  }

  enqueue(podUid: string, delayMs: number): void {
    this.#dueMs.set(podUid, this.clock.now() + delayMs);
  }

  /** Removes and returns the uids whose time is in the past. Mirrors GetWork. */
  getWork(): string[] {
    const nowMs = this.clock.now();
    const due: string[] = [];
    for (const [podUid, dueMs] of this.#dueMs) if (dueMs < nowMs) due.push(podUid);
    for (const podUid of due) this.#dueMs.delete(podUid);
    return due;
  }
}
