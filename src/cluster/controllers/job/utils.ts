import type { V1Job, V1JobCondition, V1JobStatus } from "@kubernetes/client-node";
import { JOB_TRACKING } from "../../../staging/apimachinery/api/job.js";
import type { PodObject } from "../../../staging/apimachinery/api/objects.js";
import { rfc3339 } from "../../../staging/apimachinery/time.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";

export type JobObject = Wire<V1Job>;
export type JobStatus = Wire<V1JobStatus>;
export type JobCondition = Wire<V1JobCondition>;

export const JOBS = "jobs.batch";

/** The condition of a finished job. Mirrors IsJobFinished in pkg/controller/job/utils.go. */
export function finishedCondition({ status }: JobObject): JobCondition | undefined {
  return status?.conditions?.find(
    ({ type, status: is }) => (type === "Complete" || type === "Failed") && is === "True",
  );
}

export function isJobFinished(job: JobObject): boolean {
  return finishedCondition(job) !== undefined;
}

export function isSuspended({ spec }: JobObject): boolean {
  return spec?.suspend === true;
}

/** Mirrors newCondition in pkg/controller/job/job_controller.go. */
export function newCondition(
  type: string,
  status: "True" | "False",
  [reason, message]: readonly [reason: string, message: string],
  nowMs: number,
): JobCondition {
  const now = rfc3339(nowMs);
  const why = { ...(reason === "" ? {} : { reason }), ...(message === "" ? {} : { message }) };
  return { type, status, lastProbeTime: now, lastTransitionTime: now, ...why };
}

/**
 * Adds or replaces a condition. One that is False is not added, because nothing has been True before.
 * @returns the same list if nothing changed. Mirrors ensureJobConditionStatus.
 */
export function withCondition(list: readonly JobCondition[], condition: JobCondition): readonly JobCondition[] {
  const { type, status, reason, message } = condition;
  const at = list.findIndex((one) => one.type === type);
  const old = list[at];
  if (old === undefined) return status === "False" ? list : [...list, condition];
  if (old.status === status && old.reason === reason && old.message === message) return list;
  return list.with(at, condition);
}

/** Whether the pod's end is not yet in the counters of its job's status. Mirrors hasJobTrackingFinalizer. */
export function hasTrackingFinalizer({ metadata }: PodObject): boolean {
  return metadata.finalizers?.includes(JOB_TRACKING) === true;
}

/** @returns the same object if it has no such finalizer */
export function withoutTrackingFinalizer(pod: PodObject): PodObject {
  if (!hasTrackingFinalizer(pod)) return pod;
  const { finalizers: _all, ...metadata } = pod.metadata;
  const finalizers = (pod.metadata.finalizers ?? []).filter((one) => one !== JOB_TRACKING);
  return { ...pod, metadata: finalizers.length === 0 ? metadata : { ...metadata, finalizers } };
}
