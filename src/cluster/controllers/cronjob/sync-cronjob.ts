import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import { rfc3339 } from "../../../staging/apimachinery/time.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import type { CronSchedule } from "../../../staging/cron/parse.js";
import { openSchedule } from "../../../staging/cron/schedule.js";
import { messageOf } from "../../../util/errors.js";
import { finishedCondition, JOBS, type JobObject } from "../job/utils.js";
import { controllerOf } from "../support/controller-ref.js";
import { isNamespaceTerminating } from "../support/pod-control.js";
import { decide } from "../support/sync-loop.js";
import { type CronJobDeps, deleteJob, withoutActive } from "./cleanup.js";
import { CRON_JOBS, type CronJobObject, jobFromTemplate, jobNameOf, nextScheduleTime } from "./utils.js";

const FILE = "pkg/controller/cronjob/cronjob_controllerv2.go";
/** Above it, the clock is probably wrong. */
const MANY_MISSED_TIMES = 100;

export interface Synced {
  /** another object if its status must be written */
  readonly cronJob: CronJobObject;
  /** set if the CronJob waits for its next time */
  readonly next?: CronSchedule;
  readonly failure?: { readonly error: unknown };
}

/** One pass over a CronJob. Mirrors syncCronJob in pkg/controller/cronjob/cronjob_controllerv2.go. */
export class CronJobSync {
  constructor(readonly deps: CronJobDeps) {}

  /**
   * @param jobs all that the CronJob controls
   * @param schedule undefined: only its status is brought up to date
   */
  async sync(cronJob: CronJobObject, jobs: readonly JobObject[], schedule: CronSchedule | undefined): Promise<Synced> {
    let current = cronJob;
    try {
      for (const job of jobs) current = await this.#see(current, job);
      current = await this.#dropMissing(current, jobs);
    } catch (error) {
      return { cronJob: current, failure: { error } };
    }
    return schedule === undefined ? { cronJob: current } : this.#start(current, schedule);
  }

  #event(cronJob: CronJobObject, type: "Normal" | "Warning", reason: string, message: string): void {
    this.deps.recorder.event(referenceTo(cronJob), type, reason, message);
  }

  /** Takes a finished job off the active list, and remembers when one succeeded. */
  async #see(cronJob: CronJobObject, job: JobObject): Promise<CronJobObject> {
    const isActive = isInActiveList(cronJob, job.metadata.uid);
    const finished = finishedCondition(job);
    if (finished === undefined) {
      if (isActive) return cronJob;
      // The cache may be older than the last write of the status.
      const { namespace } = cronJob.metadata;
      const latest = await this.deps.client.get<CronJobObject>(CRON_JOBS, namespace, nameOf(cronJob));
      if (latest !== undefined && isInActiveList(latest, job.metadata.uid)) return latest;
      const message = `Saw a job that the controller did not create or forgot: ${nameOf(job)}`;
      this.#event(cronJob, "Warning", "UnexpectedJob", message);
      return cronJob;
    }
    if (isActive) {
      const message = `Saw completed job: ${nameOf(job)}, status: ${finished.type}`;
      const decision = {
        what: `take Job ${keyOf(job)} off the active list of CronJob ${keyOf(cronJob)}`,
        why: `it is ${finished.type}`,
        upstream: { file: FILE, func: "syncCronJob" },
      };
      return decide(this.deps.trace, decision, () => {
        this.#event(cronJob, "Normal", "SawCompletedJob", message);
        return withoutActive(cronJob, job.metadata.uid);
      });
    }
    const { completionTime } = job.status ?? {};
    const { lastSuccessfulTime } = cronJob.status ?? {};
    if (finished.type !== "Complete" || !completionTime) return cronJob;
    if (lastSuccessfulTime && Date.parse(completionTime) <= Date.parse(lastSuccessfulTime)) return cronJob;
    return { ...cronJob, status: { ...cronJob.status, lastSuccessfulTime: completionTime } };
  }

  /** Removes deleted jobs from the list of active ones. */
  async #dropMissing(cronJob: CronJobObject, jobs: readonly JobObject[]): Promise<CronJobObject> {
    let current = cronJob;
    const known = new Set(jobs.map(({ metadata }) => metadata.uid));
    for (const { uid, name = "", namespace } of cronJob.status?.active ?? []) {
      if (known.has(uid) || (await this.deps.client.get(JOBS, namespace, name)) !== undefined) continue;
      this.#event(current, "Normal", "MissingJob", `Active job went missing: ${name}`);
      current = withoutActive(current, uid);
    }
    return current;
  }

  /** Creates the job that is due, unless the policy or the deadline forbids it. */
  async #start(cronJob: CronJobObject, next: CronSchedule): Promise<Synced> {
    const { clock } = this.deps;
    const { schedule = "", startingDeadlineSeconds: deadline } = cronJob.spec ?? {};
    const due = nextScheduleTime(cronJob, clock.now(), openSchedule(next));
    if (due === undefined) {
      const why = "time difference between two schedules less than 1 second";
      this.#event(cronJob, "Warning", "InvalidSchedule", `invalid schedule: ${schedule} : ${why}`);
      return { cronJob };
    }
    if (due.missed > MANY_MISSED_TIMES) {
      const message = `too many missed start times: ${due.missed}. Set or decrease .spec.startingDeadlineSeconds or check clock skew`;
      this.#event(cronJob, "Warning", "TooManyMissedTimes", message);
    }
    const { timeMs } = due;
    if (timeMs === undefined) return { cronJob, next };
    const time = rfc3339(timeMs);
    if (typeof deadline === "number" && timeMs + deadline * 1000 < clock.now()) {
      const message = `Missed scheduled time to start a job: ${rfc1123Z(timeMs)}`;
      return this.#leaveOut(cronJob, next, `${time} is more than startingDeadlineSeconds ${deadline} ago`, () =>
        this.#event(cronJob, "Warning", "MissSchedule", message),
      );
    }
    const { active = [], lastScheduleTime } = cronJob.status ?? {};
    const name = jobNameOf(cronJob, timeMs);
    if (lastScheduleTime === time || active.some((one) => one.name === name)) return { cronJob, next };
    const policy = cronJob.spec?.concurrencyPolicy;
    if (policy === "Forbid" && active.length > 0) {
      const message = "Not starting job because prior execution is running and concurrency policy is Forbid";
      return this.#leaveOut(cronJob, next, `${active.map((one) => one.name)} runs, concurrencyPolicy Forbid`, () =>
        this.#event(cronJob, "Normal", "JobAlreadyActive", message),
      );
    }
    const replaced = policy === "Replace" ? await this.#replaceActive(cronJob) : { cronJob };
    if (replaced.failure !== undefined) return replaced;
    const why = `${time} is due by schedule ${schedule}, ${due.missed} since the last; ${active.length} active, concurrencyPolicy ${policy}`;
    return this.#createJob(replaced.cronJob, next, timeMs, why);
  }

  #leaveOut(cronJob: CronJobObject, next: CronSchedule, why: string, act: () => void): Synced {
    const what = `create no job for CronJob ${keyOf(cronJob)}`;
    decide(this.deps.trace, { what, why, upstream: { file: FILE, func: "syncCronJob" } }, act);
    return { cronJob, next };
  }

  async #replaceActive(cronJob: CronJobObject): Promise<Synced> {
    let current = cronJob;
    for (const { name = "", namespace } of cronJob.status?.active ?? []) {
      const job = await this.deps.client.get<JobObject>(JOBS, namespace, name);
      if (job === undefined) {
        const message = `jobs.batch "${name}" not found`;
        this.#event(current, "Warning", "FailedGet", `Get job: ${message}`);
        return { cronJob: current, failure: { error: new Error(message) } };
      }
      const why = "it still runs at the next scheduled time, concurrencyPolicy Replace";
      const deleted = await deleteJob(this.deps, current, job, why, "syncCronJob");
      const failed = new Error(`could not replace job ${namespace}/${name}`);
      if (deleted === undefined) return { cronJob: current, failure: { error: failed } };
      current = deleted;
    }
    return { cronJob: current };
  }

  async #createJob(cronJob: CronJobObject, next: CronSchedule, timeMs: number, why: string): Promise<Synced> {
    const { client, trace } = this.deps;
    const wanted = jobFromTemplate(cronJob, timeMs);
    const { namespace } = cronJob.metadata;
    const decision = { what: `create Job ${keyOf(wanted)}`, why, upstream: { file: FILE, func: "syncCronJob" } };
    return decide(trace, decision, async (): Promise<Synced> => {
      let job: JobObject | undefined;
      try {
        job = await client.create<JobObject>(JOBS, namespace, wanted);
        this.#event(cronJob, "Normal", "SuccessfulCreate", `Created job ${nameOf(job)}`);
      } catch (error) {
        if (!(error instanceof StatusError && error.reason === "AlreadyExists")) {
          // Every creation fails until the namespace is gone, and this CronJob with it.
          if (!isNamespaceTerminating(error)) {
            this.#event(cronJob, "Warning", "FailedCreate", `Error creating job: ${messageOf(error)}`);
          }
          return { cronJob, failure: { error } };
        }
        // Created before a failure, when the status was not written: it belongs on the list.
        job = await client.get<JobObject>(JOBS, namespace, nameOf(wanted));
        const isOwn = job !== undefined && controllerOf(job)?.uid === cronJob.metadata.uid;
        if (job === undefined || !isOwn || isInActiveList(cronJob, job.metadata.uid)) return { cronJob };
      }
      const active = [...(cronJob.status?.active ?? []), referenceTo(job)];
      return {
        cronJob: { ...cronJob, status: { ...cronJob.status, active, lastScheduleTime: rfc3339(timeMs) } },
        next,
      };
    });
  }
}

function isInActiveList({ status }: CronJobObject, uid: string | undefined): boolean {
  return status?.active?.some((one) => one.uid === uid) === true;
}

/** `Mon, 02 Jan 2006 15:04:05 +0000` */
function rfc1123Z(ms: number): string {
  return new Date(ms).toUTCString().replace(/GMT$/, "+0000");
}
