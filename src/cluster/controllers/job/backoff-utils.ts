import type { PodObject } from "../../../staging/apimachinery/api/objects.js";

/** DefaultJobBackOff and MaxJobBackOff in pkg/controller/job/job_controller.go */
export const JOB_BACKOFF = { baseDelayMs: 10_000, maxDelayMs: 360_000 };

export const BACKOFF_CONSTANTS = [
  { name: "DefaultJobBackOff", value: `${JOB_BACKOFF.baseDelayMs / 1000}s` },
  { name: "MaxJobBackOff", value: `${JOB_BACKOFF.maxDelayMs / 1000}s` },
];

interface BackoffRecord {
  readonly failuresAfterLastSuccess: number;
  /** Unix ms; undefined without failures */
  readonly lastFailureMs?: number;
}

const NONE: BackoffRecord = { failuresAfterLastSuccess: 0 };

/**
 * The failures of each job since a pod of it succeeded: the next pod waits 10 s after one, 20 s after two, 40 s after three.
 * Mirrors pkg/controller/job/backoff_utils.go, which releases before v1.27 do not have.
 */
export class JobBackoff {
  readonly #byKey = new Map<string, BackoffRecord>();
  /** the end of the wait that was reported last, Unix ms */
  readonly #reported = new Map<string, number>();

  /** Adds pods that ended and were not counted before. Mirrors newBackoffRecord. */
  update(key: string, succeeded: readonly PodObject[], failed: readonly PodObject[]): void {
    const before = this.#byKey.get(key) ?? NONE;
    const failedMs = failed.map(finishedMs).sort((a, b) => a - b);
    const successMs = succeeded.length === 0 ? undefined : Math.max(...succeeded.map(finishedMs));
    const later = successMs === undefined ? failedMs : failedMs.filter((ms) => ms > successMs);
    const lastFailureMs = later.at(-1) ?? (successMs === undefined ? before.lastFailureMs : undefined);
    const count = (successMs === undefined ? before.failuresAfterLastSuccess : 0) + later.length;
    this.#byKey.set(key, {
      failuresAfterLastSuccess: count,
      ...(lastFailureMs === undefined ? {} : { lastFailureMs }),
    });
  }

  /** Mirrors getRemainingTime. @returns also whether this wait is a new one */
  remaining(key: string, nowMs: number): { readonly ms: number; readonly failures: number; readonly isNew: boolean } {
    const { failuresAfterLastSuccess: failures, lastFailureMs } = this.#byKey.get(key) ?? NONE;
    if (failures === 0 || lastFailureMs === undefined) return { ms: 0, failures, isNew: false };
    const delayMs = Math.min(JOB_BACKOFF.baseDelayMs * 2 ** (failures - 1), JOB_BACKOFF.maxDelayMs);
    const untilMs = lastFailureMs + delayMs;
    const isNew = this.#reported.get(key) !== untilMs;
    this.#reported.set(key, untilMs);
    return { ms: Math.max(untilMs - nowMs, 0), failures, isNew };
  }

  delete(key: string): void {
    this.#reported.delete(key);
    this.#byKey.delete(key);
  }
}

/** When the last container ended; for a pod without such times, when it was marked for deletion or created. Mirrors getFinishedTime. */
function finishedMs({ metadata, status }: PodObject): number {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp } = metadata;
  const ends = (status?.containerStatuses ?? []).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ""));
  const ready = status?.conditions?.find(({ type, status: is }) => type === "Ready" && is === "False");
  const readyMs = Date.parse(ready?.lastTransitionTime ?? "");
  if (ends.length > 0 && !ends.some(Number.isNaN)) return Math.max(...ends);
  if (!Number.isNaN(readyMs)) return readyMs;
  if (deletionTimestamp) return Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return Date.parse(creationTimestamp ?? "");
}
