import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import { type CronSchedule, parseStandard } from "../../../staging/cron/parse.js";
import { openSchedule } from "../../../staging/cron/schedule.js";
import { isTimeZone } from "../../../staging/cron/time-zone.js";
import type { Controller } from "../controller.js";
import { JOBS, type JobObject } from "../job/utils.js";
import { controllerOf, resolveControllerRef } from "../support/controller-ref.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { changesOf, decide, runSyncLoop } from "../support/sync-loop.js";
import { WrittenVersions } from "../support/written-versions.js";
import { cleanupFinishedJobs } from "./cleanup.js";
import { CronJobSync } from "./sync-cronjob.js";
import { CRON_JOBS, type CronJobObject, msToNextSchedule } from "./utils.js";

const NAME = "cronjob";
const FILE = "pkg/controller/cronjob/cronjob_controllerv2.go";

/** Creates jobs at the times of a schedule. Mirrors pkg/controller/cronjob/cronjob_controllerv2.go (ControllerV2). */
export function createCronJobController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new CronJobRun(deps).run(signal) };
}

class CronJobRun {
  readonly #cronJobs: SharedReflector<CronJobObject>;
  readonly #jobs: SharedReflector<JobObject>;
  readonly #queue: WorkQueue;
  readonly #recorder: EventRecorder;
  readonly #sync: CronJobSync;
  readonly #written = new WrittenVersions();

  constructor(readonly deps: SharedDeps) {
    this.#cronJobs = deps.reflectors.of<CronJobObject>(CRON_JOBS);
    this.#jobs = deps.reflectors.of<JobObject>(JOBS);
    this.#queue = new WorkQueue(deps.clock);
    this.#recorder = deps.recorderFor("cronjob-controller");
    this.#sync = new CronJobSync({ ...deps, recorder: this.#recorder });
  }

  run(signal: AbortSignal): Promise<void> {
    const enqueue = (cronJob: CronJobObject) => this.#queue.add(keyOf(cronJob));
    const cronJobs = changesOf(this.#cronJobs, {
      added: enqueue,
      updated: (previous, cronJob) => this.#updateCronJob(previous, cronJob),
      deleted: enqueue,
    });
    const jobs = changesOf(this.#jobs, {
      added: (job) => this.#enqueueOwner(job),
      updated: (previous, job) => {
        if (controllerOf(previous)?.uid !== controllerOf(job)?.uid) this.#enqueueOwner(previous);
        this.#enqueueOwner(job);
      },
      deleted: (job) => this.#enqueueOwner(job),
    });
    const { trace } = this.deps;
    const sync = (key: string) => this.#syncKey(key);
    return runSyncLoop({ name: NAME, trace, queue: this.#queue, sources: [cronJobs, jobs], sync }, signal);
  }

  #enqueueOwner(job: JobObject): void {
    const ref = controllerOf(job);
    const { namespace } = job.metadata;
    const owner = ref && resolveControllerRef("CronJob", ref, (name) => this.#cronJobs.get(namespace, name));
    if (owner !== undefined) this.#queue.add(keyOf(owner));
  }

  /** With another schedule it is due at another time. Mirrors updateCronJob. */
  #updateCronJob(previous: CronJobObject, cronJob: CronJobObject): void {
    const key = keyOf(cronJob);
    const { schedule, timeZone } = cronJob.spec ?? {};
    if (previous.spec?.schedule === schedule && (previous.spec?.timeZone ?? null) === (timeZone ?? null)) {
      this.#queue.add(key);
      return;
    }
    const parsed = scheduleOf(cronJob);
    if (parsed.outcome === "invalid") {
      const message = `unparseable schedule for cronjob: ${schedule}`;
      this.#recorder.event(referenceTo(cronJob), "Warning", "UnParseableCronJobSchedule", message);
      return;
    }
    this.#requeue(cronJob, parsed.schedule);
  }

  async #syncKey(key: string): Promise<void> {
    const cronJob = this.#cronJobs.byKey(key);
    if (cronJob === undefined) this.#written.delete(key);
    if (cronJob === undefined || this.#written.isOld(cronJob)) return;
    const { namespace } = cronJob.metadata;
    const jobs = this.#jobs.list().filter((job) => {
      return job.metadata.namespace === namespace && controllerOf(job)?.name === nameOf(cronJob);
    });
    const deps = { ...this.deps, recorder: this.#recorder };
    const cleaned = await cleanupFinishedJobs(deps, cronJob, jobs);
    const { cronJob: synced, next, failure } = await this.#sync.sync(cleaned, jobs, this.#scheduleFor(cleaned));
    if (synced !== cronJob) await this.#writeStatus(cronJob, synced);
    if (failure !== undefined) throw failure.error;
    if (next !== undefined) this.#requeue(synced, next);
  }

  /** @returns undefined if it cannot be scheduled, after recording an event with the reason */
  #scheduleFor(cronJob: CronJobObject): CronSchedule | undefined {
    const { timeZone, suspend, schedule = "" } = cronJob.spec ?? {};
    const about = referenceTo(cronJob);
    if (cronJob.metadata.deletionTimestamp !== undefined) return undefined;
    if (typeof timeZone === "string" && !isTimeZone(timeZone)) {
      const message = `invalid timeZone: ${JSON.stringify(timeZone)}: unknown time zone ${timeZone}`;
      this.#recorder.event(about, "Warning", "UnknownTimeZone", message);
      return undefined;
    }
    if (suspend === true) return undefined;
    if (schedule.includes("TZ")) {
      const message = `CRON_TZ or TZ used in schedule ${JSON.stringify(schedule)} is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details`;
      this.#recorder.event(about, "Warning", "UnsupportedSchedule", message);
    }
    const parsed = scheduleOf(cronJob);
    if (parsed.outcome === "ok") return parsed.schedule;
    const message = `unparseable schedule: ${JSON.stringify(schedule)} : ${parsed.why}`;
    this.#recorder.event(about, "Warning", "UnparseableSchedule", message);
    return undefined;
  }

  async #writeStatus(before: CronJobObject, cronJob: CronJobObject): Promise<void> {
    const { client, trace } = this.deps;
    const { active = [], lastScheduleTime, lastSuccessfulTime } = cronJob.status ?? {};
    const decision = {
      what: `write the status of CronJob ${keyOf(cronJob)}`,
      why: `${(before.status?.active ?? []).length} -> ${active.length} active, last schedule ${lastScheduleTime ?? "none"}, last success ${lastSuccessfulTime ?? "none"}`,
      upstream: { file: FILE, func: "sync" },
    };
    this.#written.wrote(await decide(trace, decision, () => client.update(CRON_JOBS, cronJob, "status"), 2));
  }

  /** Waits for the next time of the schedule. */
  #requeue(cronJob: CronJobObject, schedule: CronSchedule): void {
    const { clock, trace } = this.deps;
    const delayMs = msToNextSchedule(cronJob, clock.now(), openSchedule(schedule));
    if (delayMs === undefined) return;
    const key = keyOf(cronJob);
    const { schedule: text, timeZone } = cronJob.spec ?? {};
    const decision = {
      what: `sync CronJob ${key} again in ${delayMs / 1000}s`,
      why: `schedule ${text}${typeof timeZone === "string" ? ` in ${timeZone}` : ""}`,
      constants: [{ name: "nextScheduleDelta", value: "100ms" }],
      upstream: { file: FILE, func: "nextScheduledTimeDuration" },
    };
    decide(trace, decision, () => this.#queue.addAfter(key, delayMs), 2);
  }
}

/** The schedule in the CronJob's time zone. Mirrors formatSchedule. */
function scheduleOf({ spec }: CronJobObject) {
  const { schedule = "", timeZone } = spec ?? {};
  const parsed = parseStandard(schedule);
  const isOwn = schedule.includes("TZ") || typeof timeZone !== "string" || !isTimeZone(timeZone);
  if (parsed.outcome === "invalid" || isOwn || parsed.schedule.type === "every") return parsed;
  return { ...parsed, schedule: { ...parsed.schedule, timeZone } };
}
