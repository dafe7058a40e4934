import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import { messageOf } from "../../../util/errors.js";
import { finishedCondition, JOBS, type JobObject } from "../job/utils.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { decide } from "../support/sync-loop.js";
import { byStartTime, type CronJobObject } from "./utils.js";

const FILE = "pkg/controller/cronjob/cronjob_controllerv2.go";

export interface CronJobDeps extends Pick<SharedDeps, "client" | "clock" | "trace"> {
  readonly recorder: EventRecorder;
}

/**
 * Deletes the oldest finished jobs beyond the limits of the history.
 * Mirrors cleanupFinishedJobs. @returns the CronJob without them in its active list
 */
export async function cleanupFinishedJobs(
  deps: CronJobDeps,
  cronJob: CronJobObject,
  jobs: readonly JobObject[],
): Promise<CronJobObject> {
  const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = cronJob.spec ?? {};
  const limits = [
    ["Complete", "successfulJobsHistoryLimit", successfulJobsHistoryLimit],
    ["Failed", "failedJobsHistoryLimit", failedJobsHistoryLimit],
  ] as const;
  let cleaned = cronJob;
  for (const [type, name, limit] of limits) {
    const finished = jobs.filter((job) => finishedCondition(job)?.type === type).sort(byStartTime);
    const excess = typeof limit === "number" ? finished.slice(0, Math.max(finished.length - limit, 0)) : [];
    for (const job of excess) {
      const why = `${finished.length} jobs are ${type}, ${name} ${limit}`;
      const deleted = await deleteJob(deps, cleaned, job, why, "removeOldestJobs");
      cleaned = deleted ?? cleaned;
    }
  }
  return cleaned;
}

/** Deletes a job with its pods. Mirrors deleteJob. @returns undefined if that failed, after an event */
export async function deleteJob(
  { client, recorder, trace }: CronJobDeps,
  cronJob: CronJobObject,
  job: JobObject,
  why: string,
  func: string,
): Promise<CronJobObject | undefined> {
  const about = referenceTo(cronJob);
  const decision = { what: `delete Job ${keyOf(job)}`, why, upstream: { file: FILE, func } };
  return decide(trace, decision, async () => {
    try {
      await client.delete(JOBS, job.metadata.namespace, nameOf(job), { propagationPolicy: "Background" });
    } catch (error) {
      recorder.event(about, "Warning", "FailedDelete", `Deleted job: ${messageOf(error)}`);
      return undefined;
    }
    recorder.event(about, "Normal", "SuccessfulDelete", `Deleted job ${nameOf(job)}`);
    return withoutActive(cronJob, job.metadata.uid);
  });
}

/** @returns a new object, because its status is written after a deletion. Mirrors deleteFromActiveList. */
export function withoutActive(cronJob: CronJobObject, jobUid: string | undefined): CronJobObject {
  const { active: before = [], ...status } = cronJob.status ?? {};
  const active = before.filter(({ uid }) => uid !== jobUid);
  return { ...cronJob, status: { ...status, ...(active.length === 0 ? {} : { active }) } };
}
