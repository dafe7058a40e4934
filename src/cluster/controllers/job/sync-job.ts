import { JOB_TRACKING } from "../../../staging/apimachinery/api/job.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { isPodReady } from "../../../staging/apimachinery/api/pod.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import { labelSelectorAsSelector } from "../../../staging/apimachinery/selector.js";
import { rfc3339 } from "../../../staging/apimachinery/time.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import type { WorkQueue } from "../../../staging/client-go/workqueue.js";
import { factFor } from "../../../util/release/facts.js";
import { counted } from "../../../util/text/counted.js";
import { isPodActive } from "../support/active-pods.js";
import { ControllerExpectations } from "../support/controller-expectations.js";
import { ControllerRefManager } from "../support/controller-ref-manager.js";
import { PodControl } from "../support/pod-control.js";
import { podsOfOwner } from "../support/pod-indexers.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { decide } from "../support/sync-loop.js";
import { WrittenVersions } from "../support/written-versions.js";
import { BACKOFF_CONSTANTS, JobBackoff } from "./backoff-utils.js";
import { isIndexedJob, succeededIndexes, totalOf } from "./indexed-job-utils.js";
import { deleteActivePods, type Managed, manageJob } from "./manage-job.js";
import { countFinished, failJobMessage, jobText, msToDeadline, restartsPastLimit } from "./status.js";
import { JobTracker, withStatus } from "./tracking.js";
import { FinalizerExpectations } from "./tracking-utils.js";
import {
  isJobFinished,
  isSuspended,
  JOBS,
  type JobCondition,
  type JobObject,
  newCondition,
  withCondition,
} from "./utils.js";

const FILE = "pkg/controller/job/job_controller.go";
/** Conditions and events of failed jobs. */
const BACKOFF_LIMIT_EXCEEDED = ["BackoffLimitExceeded", "Job has reached the specified backoff limit"] as const;
const DEADLINE_EXCEEDED = ["DeadlineExceeded", "Job was active longer than specified deadline"] as const;
const SUSPENDED = ["JobSuspended", "Job suspended"] as const;
const RESUMED = ["JobResumed", "Job resumed"] as const;

/** Pods failed since the last sync: the next sync waits for the back-off. */
export class PodsFailed extends Error {}

/** What one sync knows about a job. */
interface Seen {
  readonly job: JobObject;
  readonly pods: readonly PodObject[];
  readonly activePods: readonly PodObject[];
  readonly succeeded: number;
  readonly failed: number;
  readonly indexes: ReturnType<typeof succeededIndexes>;
  /** the cache shows all pods that were created and deleted */
  readonly isCurrent: boolean;
}

/** Brings one job nearer to its end. Mirrors syncJob in pkg/controller/job/job_controller.go. */
export class JobSync {
  readonly expectations: ControllerExpectations;
  readonly finalizers = new FinalizerExpectations();
  readonly #written = new WrittenVersions();
  /** undefined: failed pods make the sync fail, and the queue waits */
  readonly #backoff: JobBackoff | undefined;
  readonly #podControl: PodControl;
  readonly #recorder: EventRecorder;
  readonly #tracker: JobTracker;

  constructor(
    readonly deps: SharedDeps,
    readonly jobs: SharedReflector<JobObject>,
    readonly pods: SharedReflector<PodObject>,
    readonly queue: WorkQueue,
  ) {
    this.expectations = new ControllerExpectations(deps.clock);
    if (factFor("jobBackoffByFailures", deps.kubeVersion)) this.#backoff = new JobBackoff();
    this.#recorder = deps.recorderFor("job-controller");
    this.#podControl = new PodControl(deps.client, this.#recorder);
    this.#tracker = new JobTracker({
      ...deps,
      recorder: this.#recorder,
      finalizers: this.finalizers,
      written: this.#written,
    });
  }

  /** @throws PodsFailed, and the API server's refusals: the job is synced again */
  async sync(key: string): Promise<void> {
    const job = this.jobs.byKey(key);
    if (job === undefined) {
      this.expectations.delete(key);
      this.finalizers.delete(key);
      this.#written.delete(key);
      this.#backoff?.delete(key);
      return;
    }
    if (isJobFinished(job) || this.#written.isOld(job)) return;
    const removed = this.finalizers.expected(key);
    const isCurrent = this.expectations.isSatisfied(key);
    const pods = await this.#claimPods(job);
    const counts = countFinished(job, pods, removed);
    const indexes = isIndexedJob(job) ? succeededIndexes(job, pods) : { before: [], now: [] };
    const succeeded = isIndexedJob(job) ? totalOf(indexes.now) : counts.succeeded;
    const seen = { job, pods, activePods: pods.filter(isPodActive), ...counts, succeeded, indexes, isCurrent };
    this.#backoff?.update(key, counts.fresh.succeeded, counts.fresh.failed);
    const { managed, finished, ...decided } = await this.#decide(seen);
    const before = job.status ?? {};
    const ready = seen.activePods.filter(isPodReady).length;
    const needsFlush = decided.isFlushed || managed.active !== (before.active ?? 0) || ready !== before.ready;
    const next = withStatus(decided.job, {
      active: managed.active,
      ready,
      uncountedTerminatedPods: before.uncountedTerminatedPods ?? {},
    });
    try {
      const tracked = { job: next, pods, succeededIndexes: indexes.before, removed, finished, needsFlush };
      const stored = await this.#tracker.track(tracked);
      const newFailures = seen.failed - (before.failed ?? 0);
      if (newFailures > 0 && this.#backoff === undefined && !isJobFinished(stored)) {
        throw new PodsFailed(`failed pod(s) detected for job key "${key}"`);
      }
    } catch (error) {
      // The cache was old. The version that caused the conflict comes by the watch, and is synced then.
      if (error instanceof StatusError && error.reason === "Conflict") return;
      throw error;
    }
    if (managed.failure !== undefined) throw managed.failure.error;
  }

  /** Mirrors getPodsForJob. */
  async #claimPods(job: JobObject): Promise<PodObject[]> {
    const { uid } = job.metadata;
    const selects = labelSelectorAsSelector(job.spec?.selector);
    const manager = new ControllerRefManager<PodObject>(this.deps, {
      owner: job,
      ownerResource: JOBS,
      resource: "pods",
      finalizers: [JOB_TRACKING],
      matches: (pod) => selects(pod.metadata.labels),
    });
    const pods = await manager.claim(podsOfOwner(this.pods, job));
    // Those that were adopted just now have the finalizer, which the cache does not show yet.
    return pods.map((pod) => {
      const isOwn = pod.metadata.ownerReferences?.some((reference) => reference.uid === uid) === true;
      const { finalizers = [] } = pod.metadata;
      if (isOwn || finalizers.includes(JOB_TRACKING)) return pod;
      return { ...pod, metadata: { ...pod.metadata, finalizers: [...finalizers, JOB_TRACKING] } };
    });
  }

  /** Creates and deletes pods. @returns the job with its new start time and conditions, and how it ends, if it does */
  async #decide(seen: Seen) {
    const { activePods, isCurrent } = seen;
    const { clock } = this.deps;
    const mustStart = !seen.job.status?.startTime && !isSuspended(seen.job);
    const job = mustStart ? withStatus(seen.job, { startTime: rfc3339(clock.now()) }) : seen.job;
    const failure = this.#failureOf({ ...seen, job });
    if (failure !== undefined) {
      const managed = await deleteActivePods(this.#manageDeps, job, activePods, failure.why);
      // Pods that are not deleted, or not in the cache yet, must be counted before the job is over.
      const finished = managed.active > 0 || !isCurrent ? undefined : failure.condition;
      return { job, managed, finished, isFlushed: false };
    }
    const isManaged = isCurrent && !isTerminating(job);
    const { succeeded, indexes } = seen;
    const managed: Managed = isManaged
      ? await manageJob(this.#manageDeps, job, { activePods, succeeded, succeededIndexes: indexes.now })
      : { active: activePods.length };
    if (managed.active === 0 && isComplete(job, succeeded)) {
      const finished = newCondition("Complete", "True", ["", ""], clock.now());
      return { job, managed, finished, isFlushed: false };
    }
    const resumed = isManaged ? this.#suspendOrResume(job) : job;
    return { job: resumed, managed, finished: undefined, isFlushed: resumed !== job };
  }

  get #manageDeps() {
    const mustWait = (job: JobObject) => this.#mustWait(job);
    return { ...this.deps, podControl: this.#podControl, expectations: this.expectations, mustWait };
  }

  /** Whether no pod is created before the back-off of the failed ones is over. The job is synced then. */
  #mustWait(job: JobObject): boolean {
    const key = keyOf(job);
    const { ms = 0, failures = 0, isNew = false } = this.#backoff?.remaining(key, this.deps.clock.now()) ?? {};
    if (ms <= 0) return false;
    const decision = {
      what: `wait ${ms / 1000}s before Job ${key} gets another pod`,
      why: `${counted(failures, "pod")} failed since the last success`,
      constants: BACKOFF_CONSTANTS,
      upstream: { file: "pkg/controller/job/backoff_utils.go", func: "getRemainingTime" },
    };
    decide(this.deps.trace, decision, () => this.queue.addAfter(key, ms), isNew ? 1 : 3);
    return true;
  }

  /** Why the job fails now: its policy for failed pods, its back-off limit, or its deadline. */
  #failureOf({ job, pods, failed, activePods }: Seen): { condition: JobCondition; why: string } | undefined {
    const { backoffLimit = 6, parallelism = 1 } = job.spec ?? {};
    const nowMs = this.deps.clock.now();
    const fail = (type: string, because: readonly [string, string], why: string) => ({
      condition: newCondition(type, "True", because, nowMs),
      why,
    });
    const target = job.status?.conditions?.find(({ type }) => type === "FailureTarget");
    if (target !== undefined) {
      return fail("Failed", [target.reason ?? "", target.message ?? ""], target.message ?? "");
    }
    const message = failJobMessage(job, pods);
    if (message !== undefined) return fail("FailureTarget", ["PodFailurePolicy", message], message);
    // Pods that are counted as failed already do not count as new when only the write of the status had failed.
    const isNewFailure = failed > (job.status?.failed ?? 0) && activePods.length !== parallelism;
    if (isNewFailure && failed > backoffLimit) {
      return fail("Failed", BACKOFF_LIMIT_EXCEEDED, `${counted(failed, "pod")} failed, backoffLimit ${backoffLimit}`);
    }
    const restarts = restartsPastLimit(job, pods);
    if (restarts !== undefined) {
      const why = `${counted(restarts, "restart")} of containers, backoffLimit ${backoffLimit}`;
      return fail("Failed", BACKOFF_LIMIT_EXCEEDED, why);
    }
    const leftMs = msToDeadline(job, job.status?.startTime, nowMs);
    if (leftMs === undefined) return undefined;
    const deadline = `activeDeadlineSeconds ${job.spec?.activeDeadlineSeconds} since ${job.status?.startTime}`;
    if (leftMs <= 0) return fail("Failed", DEADLINE_EXCEEDED, deadline);
    const what = `sync ${jobText(job)} again in ${leftMs / 1000}s`;
    const decision = { what, why: deadline, upstream: { file: FILE, func: "syncJob" } };
    decide(this.deps.trace, decision, () => this.queue.addAfter(keyOf(job), leftMs), 2);
    return undefined;
  }

  /** @returns the same job if its condition Suspended is already correct */
  #suspendOrResume(job: JobObject): JobObject {
    const { clock, trace } = this.deps;
    const before = job.status?.conditions ?? [];
    const isOff = isSuspended(job);
    const [reason, message] = isOff ? SUSPENDED : RESUMED;
    const condition = newCondition("Suspended", isOff ? "True" : "False", [reason, message], clock.now());
    const conditions = withCondition(before, condition);
    if (conditions === before) return job;
    const decision = {
      what: `${isOff ? "suspend" : "resume"} ${jobText(job)}`,
      why: `suspend is ${isOff}`,
      upstream: { file: FILE, func: "syncJob" },
    };
    decide(trace, decision, () =>
      this.#recorder.event(referenceTo(job), "Normal", isOff ? "Suspended" : "Resumed", message),
    );
    // The deadline counts the time since the job was resumed.
    return withStatus(job, { conditions, ...(isOff ? {} : { startTime: rfc3339(clock.now()) }) });
  }
}

/** Without a number of completions, one success is enough. */
function isComplete({ spec }: JobObject, succeeded: number): boolean {
  return succeeded >= (typeof spec?.completions === "number" ? spec.completions : 1);
}
