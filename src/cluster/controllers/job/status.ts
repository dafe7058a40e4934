import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import type { PodObject } from "../../../staging/apimachinery/api/objects.js";
import { completionIndexOf, isIndexedJob } from "./indexed-job-utils.js";
import { matchPodFailurePolicy } from "./pod-failure-policy.js";
import { hasTrackingFinalizer, isSuspended, type JobObject } from "./utils.js";

/** Pure questions about a job and its pods. Mirrors functions of pkg/controller/job/job_controller.go. */

export interface Counts {
  readonly succeeded: number;
  readonly failed: number;
  /** those of them that no status knows */
  readonly fresh: { readonly succeeded: readonly PodObject[]; readonly failed: readonly PodObject[] };
}

/**
 * The pods that ended: those in the counters of the status, those that wait there to be counted, and new ones.
 * Mirrors getStatus. @param removed UIDs of pods whose finalizer was removed, which the cache does not show yet
 */
export function countFinished(job: JobObject, pods: readonly PodObject[], removed: ReadonlySet<string>): Counts {
  const { succeeded = 0, failed = 0, uncountedTerminatedPods: uncounted } = job.status ?? {};
  const waitingSucceeded = uncounted?.succeeded ?? [];
  const waitingFailed = uncounted?.failed ?? [];
  const freshOf = (waiting: readonly string[], isEnded: (pod: PodObject) => boolean) =>
    pods.filter((pod) => {
      const { uid = "" } = pod.metadata;
      if (!hasTrackingFinalizer(pod) || waiting.includes(uid) || removed.has(uid)) return false;
      return hasValidIndex(job, pod) && isEnded(pod);
    });
  const fresh = {
    succeeded: freshOf(waitingSucceeded, (pod) => pod.status?.phase === "Succeeded"),
    failed: freshOf(waitingFailed, (pod) => isPodFailed(pod) && countsAsFailure(job, pod)),
  };
  return {
    succeeded: succeeded + waitingSucceeded.length + fresh.succeeded.length,
    failed: failed + waitingFailed.length + fresh.failed.length,
    fresh,
  };
}

export function hasValidIndex(job: JobObject, pod: PodObject): boolean {
  if (!isIndexedJob(job)) return true;
  const index = completionIndexOf(pod);
  return index !== undefined && index < (job.spec?.completions ?? 0);
}

/** Deleted pods count as failed: the pods of a node that is gone never reach the phase Failed. Mirrors isPodFailed. */
function isPodFailed({ metadata, status }: PodObject): boolean {
  return status?.phase === "Failed" || (metadata.deletionTimestamp !== undefined && status?.phase !== "Succeeded");
}

export function countsAsFailure({ spec }: JobObject, pod: PodObject): boolean {
  return !spec?.podFailurePolicy || matchPodFailurePolicy(spec.podFailurePolicy, pod).isCounted;
}

/** Why a failed pod fails its job at once, by the job's policy. Mirrors getFailJobMessage. */
export function failJobMessage({ spec }: JobObject, pods: readonly PodObject[]): string | undefined {
  const policy = spec?.podFailurePolicy;
  if (!policy) return undefined;
  for (const pod of pods) {
    const message = isPodFailed(pod) ? matchPodFailurePolicy(policy, pod).failJob : undefined;
    if (message !== undefined) return message;
  }
  return undefined;
}

/**
 * Whether the containers of pods that restart them (OnFailure) were restarted too often.
 * Mirrors pastBackoffLimitOnFailure. @returns the number of restarts if it exceeds the limit
 */
export function restartsPastLimit({ spec }: JobObject, pods: readonly PodObject[]): number | undefined {
  if (spec?.template?.spec?.restartPolicy !== "OnFailure") return undefined;
  let restarts = 0;
  for (const { status } of pods) {
    if (status?.phase !== "Running" && status?.phase !== "Pending") continue;
    const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    for (const { restartCount = 0 } of statuses) restarts += restartCount;
  }
  const limit = spec.backoffLimit ?? 0;
  const isPast = limit === 0 ? restarts > 0 : restarts >= limit;
  return isPast ? restarts : undefined;
}

/** ms until the job's deadline; undefined without one. Zero or less: it has passed. Mirrors pastActiveDeadline. */
export function msToDeadline(job: JobObject, startTime: string | null | undefined, nowMs: number): number | undefined {
  const { activeDeadlineSeconds: seconds } = job.spec ?? {};
  if (typeof seconds !== "number" || !startTime || isSuspended(job)) return undefined;
  return Date.parse(startTime) + seconds * 1000 - nowMs;
}

/** For texts: `Job default/pi`. */
export function jobText(job: JobObject): string {
  return `Job ${keyOf(job)}`;
}
