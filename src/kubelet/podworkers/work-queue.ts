import { currentScope, type Scope } from "../../trace/scope.js";
import type { Clock } from "../../util/clock.js";

/** The queue of pods that are due for a sync later. */
export interface WorkQueue {
  /** Enqueuing again overwrites the time and the cause, which is that of the caller. */
  enqueue(podUid: string, delayMs: number): void;
}

/** A pod that is due, and why it was enqueued. */
export interface DueWork {
  readonly podUid: string;
  readonly scope: Scope | undefined;
}

interface Entry {
  readonly dueMs: number;
  readonly scope: Scope | undefined;
}

/**
 * Pods that need another sync after a delay; the sync loop takes due ones once a second.
 *
 * Mirrors pkg/kubelet/util/queue/work_queue.go (basicWorkQueue).
 */
export class BasicWorkQueue implements WorkQueue {
  readonly #entries = new Map<string, Entry>();

  constructor(readonly clock: Clock) {}

  get size(): number {
    return this.#entries.size;
  }

  /** Unix ms at which a pod is due; undefined if it is not queued */
  dueMs(podUid: string): number | undefined {
    return this.#entries.get(podUid)?.dueMs;
  }

  enqueue(podUid: string, delayMs: number): void {
    this.#entries.set(podUid, { dueMs: this.clock.now() + delayMs, scope: currentScope() });
  }

  /** Removes and returns the pods whose time is in the past. Mirrors GetWork. */
  getWork(): DueWork[] {
    const nowMs = this.clock.now();
    const due: DueWork[] = [];
    for (const [podUid, { dueMs, scope }] of this.#entries) if (dueMs < nowMs) due.push({ podUid, scope });
    for (const { podUid } of due) this.#entries.delete(podUid);
    return due;
  }
}
