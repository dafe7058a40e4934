import type { V1CronJob } from "@kubernetes/client-node";
import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import { typeDefaults } from "../../../staging/apimachinery/scheme/defaults/defaults.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import type { Schedule } from "../../../staging/cron/schedule.js";
import { defined } from "../../../util/defined.js";
import type { JobObject } from "../job/utils.js";
import { newControllerRef } from "../support/controller-ref.js";

/** Mirrors pkg/controller/cronjob/utils.go. */

export type CronJobObject = Wire<V1CronJob>;

export const CRON_JOBS = "cronjobs.batch";

/** Added to each wait, so that the controller does not wake up just before the time. */
const NEXT_SCHEDULE_DELTA_MS = 100;

/** The last time that is due, and how many were due in all. */
export interface MostRecent {
  readonly timeMs: number | undefined;
  readonly missed: number;
}

/** The time that nothing before is due: the last schedule, or the creation. */
function earliestMs({ metadata, status }: CronJobObject): number {
  return Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp ?? "");
}

/**
 * Mirrors getMostRecentScheduleTime: with several times it counts as if all were as far apart as the first two.
 * @returns undefined for a schedule whose times are less than a second apart, or that has none
 */
function mostRecentScheduleTime(fromMs: number, nowMs: number, schedule: Schedule): MostRecent | undefined {
  const first = schedule.next(fromMs);
  const second = first === undefined ? undefined : schedule.next(first);
  if (first !== undefined && nowMs < first) return { timeMs: undefined, missed: 0 };
  if (first !== undefined && second !== undefined && nowMs < second) return { timeMs: first, missed: 1 };
  if (first === undefined || second === undefined || second - first < 1000) return undefined;
  const distanceMs = second - first;
  const missed = Math.floor((nowMs - first) / distanceMs) + 1;
  return { timeMs: first + (missed - 1) * distanceMs, missed };
}

/** What is due now. A time that is older than startingDeadlineSeconds does not count. Mirrors getNextScheduleTime. */
export function nextScheduleTime(cronJob: CronJobObject, nowMs: number, schedule: Schedule): MostRecent | undefined {
  const { startingDeadlineSeconds: seconds } = cronJob.spec ?? {};
  const deadlineMs = typeof seconds === "number" ? nowMs - seconds * 1000 : Number.NEGATIVE_INFINITY;
  const fromMs = Math.max(earliestMs(cronJob), deadlineMs);
  if (fromMs > nowMs) return { timeMs: undefined, missed: 0 };
  return mostRecentScheduleTime(fromMs, nowMs, schedule);
}

/** Mirrors nextScheduledTimeDuration. @returns ms; undefined if the schedule has no further time */
export function msToNextSchedule(cronJob: CronJobObject, nowMs: number, schedule: Schedule): number | undefined {
  const fromMs = earliestMs(cronJob);
  const recent = mostRecentScheduleTime(fromMs, nowMs, schedule);
  const baseMs = recent === undefined ? nowMs : (recent.timeMs ?? fromMs);
  const next = schedule.next(baseMs);
  return next === undefined ? undefined : next + NEXT_SCHEDULE_DELTA_MS - nowMs;
}

/** One name for each minute, so that no job is created twice. Mirrors getJobName. */
export function jobNameOf(cronJob: CronJobObject, timeMs: number): string {
  return `${nameOf(cronJob)}-${Math.floor(timeMs / 60_000)}`;
}

/** Mirrors getJobFromTemplate2. The defaults of a Job are set here, because a client in this process sends no text to decode. */
export function jobFromTemplate(cronJob: CronJobObject, timeMs: number): JobObject {
  const { metadata, spec } = cronJob.spec?.jobTemplate ?? {};
  const { labels, annotations } = metadata ?? {};
  const { namespace } = cronJob.metadata;
  const name = jobNameOf(cronJob, timeMs);
  const job = {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { ...defined({ labels, annotations, namespace }), name, ownerReferences: [newControllerRef(cronJob)] },
    spec: structuredClone(spec ?? {}),
  };
  typeDefaults("Job")?.(job);
  return job as unknown as JobObject;
}

/** Jobs without a start time last, then by name. Mirrors byJobStartTime. */
export function byStartTime(a: JobObject, b: JobObject): number {
  const [startA, startB] = [a, b].map(({ status }) =>
    status?.startTime ? Date.parse(status.startTime) : Number.POSITIVE_INFINITY,
  );
  if (startA !== startB) return (startA ?? 0) < (startB ?? 0) ? -1 : 1;
  return nameOf(a) < nameOf(b) ? -1 : 1;
}
