import type { Clock } from "../../util/clock.js";

/** Where workers ask to be looked at again, and when. */
export interface WorkQueue {
  /** Asking again overwrites the time. */
  enqueue(podUid: string, delayMs: number): void;
}

/**
 * Pods that want to be synced again after a while; the sync loop takes what is due once a second.
 *
 * Mirrors pkg/kubelet/util/queue/work_queue.go (basicWorkQueue).
 */
export class BasicWorkQueue implements WorkQueue {
  readonly #dueMs = new Map<string, number>();

  constructor(readonly clock: Clock) {}

  get size(): number {
    return this.#dueMs.size;
  }

  /** Unix ms at which a pod is due; undefined when it is not waiting */
  dueMs(podUid: string): number | undefined {
    return this.#dueMs.get(podUid);
  }

  enqueue(podUid: string, delayMs: number): void {
    this.#dueMs.set(podUid, this.clock.now() + delayMs);
  }

  /** Takes out the uids whose time has come; not those of this very moment. Mirrors GetWork. */
  getWork(): string[] {
    const nowMs = this.clock.now();
    const due: string[] = [];
    for (const [podUid, dueMs] of this.#dueMs) if (dueMs < nowMs) due.push(podUid);
    for (const podUid of due) this.#dueMs.delete(podUid);
    return due;
  }
}
