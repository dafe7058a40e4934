import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { sameJson } from "../../../staging/apimachinery/same-json.js";
import { matchesSelector } from "../../../staging/apimachinery/selector.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import type { Controller } from "../controller.js";
import { controllerOf, resolveControllerRef } from "../support/controller-ref.js";
import { podsOfOwner } from "../support/pod-indexers.js";
import { retryReporter, type SharedDeps } from "../support/shared-deps.js";
import { changesOf, decide, runSyncLoop } from "../support/sync-loop.js";
import { BACKOFF_CONSTANTS, JOB_BACKOFF } from "./backoff-utils.js";
import { JobSync, PodsFailed } from "./sync-job.js";
import { hasTrackingFinalizer, isJobFinished, JOBS, type JobObject, withoutTrackingFinalizer } from "./utils.js";

const NAME = "job";
const FILE = "pkg/controller/job/job_controller.go";
/** Changes of pods are collected for this long. */
const POD_UPDATE_BATCH_PERIOD_MS = 1_000;

/** Runs pods until enough of them succeeded. Mirrors pkg/controller/job/job_controller.go (Controller). */
export function createJobController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => new JobRun(deps).run(signal) };
}

class JobRun {
  readonly #jobs: SharedReflector<JobObject>;
  readonly #pods: SharedReflector<PodObject>;
  readonly #queue: WorkQueue;
  /** pods without a job to count them, which keep their finalizer until it is removed here */
  readonly #orphanQueue: WorkQueue;
  readonly #sync: JobSync;

  constructor(readonly deps: SharedDeps) {
    this.#jobs = deps.reflectors.of<JobObject>(JOBS);
    this.#pods = deps.reflectors.of<PodObject>("pods");
    this.#queue = new WorkQueue(deps.clock, JOB_BACKOFF);
    this.#orphanQueue = new WorkQueue(deps.clock, JOB_BACKOFF);
    this.#sync = new JobSync(deps, this.#jobs, this.#pods, this.#queue);
  }

  run(signal: AbortSignal): Promise<void> {
    const jobs = changesOf(this.#jobs, {
      added: (job) => this.#queue.add(keyOf(job)),
      updated: (previous, job) => this.#updateJob(previous, job),
      deleted: (job) => this.#deleteJob(job),
    });
    const pods = changesOf(this.#pods, {
      added: (pod) => this.#addPod(pod),
      updated: (previous, pod) => this.#updatePod(previous, pod),
      deleted: (pod) => this.#deletePod(pod, true),
    });
    const { trace } = this.deps;
    const report = retryReporter(this.deps, NAME);
    const onError = (key: string, error: unknown) =>
      error instanceof PodsFailed ? this.#reportBackoff(key, error) : report(key, error);
    const sync = (key: string) => this.#sync.sync(key);
    const orphans = { queue: this.#orphanQueue, sync: (key: string) => this.#syncOrphanPod(key) };
    const loop = { name: NAME, trace, queue: this.#queue, sources: [jobs, pods], sync, onError, others: [orphans] };
    return runSyncLoop(loop, signal);
  }

  /** Upstream logs an error; here it is the decision to wait. */
  #reportBackoff(key: string, error: PodsFailed): void {
    const seconds = this.#queue.retryDelayMs(key) / 1000;
    const decision = {
      what: `sync Job ${key} again in ${seconds}s`,
      why: `${error.message}: retry ${this.#queue.numRequeues(key) + 1} in a row, and each waits twice as long`,
      constants: BACKOFF_CONSTANTS,
      upstream: { file: FILE, func: "processNextWorkItem" },
    };
    decide(this.deps.trace, decision, () => {});
  }

  #jobOf(pod: PodObject): JobObject | undefined {
    const ref = controllerOf(pod);
    const { namespace } = pod.metadata;
    return ref && resolveControllerRef("Job", ref, (name) => this.#jobs.get(namespace, name));
  }

  #updateJob(previous: JobObject, job: JobObject): void {
    this.#queue.add(keyOf(job));
    const seconds = job.spec?.activeDeadlineSeconds;
    if (!job.status?.startTime || typeof seconds !== "number") return;
    if (previous.spec?.activeDeadlineSeconds === seconds) return;
    const passedMs = this.deps.clock.now() - Date.parse(job.status.startTime);
    this.#queue.addAfter(keyOf(job), seconds * 1000 - passedMs);
  }

  /** Its pods keep their finalizer otherwise, and could not be deleted. */
  #deleteJob(job: JobObject): void {
    this.#queue.add(keyOf(job));
    for (const pod of podsOfOwner(this.#pods, job)) {
      const isOwn = controllerOf(pod)?.uid === job.metadata.uid;
      if (isOwn && hasTrackingFinalizer(pod)) this.#orphanQueue.add(keyOf(pod));
    }
  }

  #addPod(pod: PodObject): void {
    if (isTerminating(pod)) {
      this.#deletePod(pod, false);
      return;
    }
    if (controllerOf(pod) === undefined) {
      this.#orphanSeen(pod);
      this.#enqueueMatching(pod);
      return;
    }
    const job = this.#jobOf(pod);
    if (job === undefined) return;
    this.#sync.expectations.creationObserved(keyOf(job));
    this.#enqueueForPod(job, true);
  }

  #updatePod(previous: PodObject, pod: PodObject): void {
    if (isTerminating(pod)) {
      this.#deletePod(pod, false);
      return;
    }
    // Only a failure waits for the back-off.
    const isImmediate = pod.status?.phase !== "Failed";
    const [before, now] = [controllerOf(previous), controllerOf(pod)];
    const isReowned = !sameJson(before ?? null, now ?? null);
    if (isReowned && before !== undefined) this.#podSeen(this.#jobOf(previous), pod, isImmediate);
    if (now !== undefined) {
      this.#podSeen(this.#jobOf(pod), pod, isImmediate);
      return;
    }
    this.#orphanSeen(pod);
    const isRelabelled = !sameJson(previous.metadata.labels ?? {}, pod.metadata.labels ?? {});
    if (isRelabelled || isReowned) this.#enqueueMatching(pod);
  }

  #podSeen(job: JobObject | undefined, pod: PodObject, isImmediate: boolean): void {
    if (job === undefined) return;
    if (!hasTrackingFinalizer(pod)) this.#sync.finalizers.observed(keyOf(job), pod.metadata.uid ?? "");
    this.#enqueueForPod(job, isImmediate);
  }

  /** @param isFinal false: the pod is only marked for deletion */
  #deletePod(pod: PodObject, isFinal: boolean): void {
    const job = this.#jobOf(pod);
    if (job === undefined || isJobFinished(job)) {
      this.#orphanSeen(pod);
      return;
    }
    const key = keyOf(job);
    this.#sync.expectations.deletionObserved(key);
    if (isFinal || !hasTrackingFinalizer(pod)) this.#sync.finalizers.observed(key, pod.metadata.uid ?? "");
    this.#enqueueForPod(job, true);
  }

  #orphanSeen(pod: PodObject): void {
    if (hasTrackingFinalizer(pod)) this.#orphanQueue.add(keyOf(pod));
  }

  /** It may be adopted. */
  #enqueueMatching(pod: PodObject): void {
    for (const job of this.#jobs.list()) {
      if (job.metadata.namespace !== pod.metadata.namespace) continue;
      if (matchesSelector(job.spec?.selector, pod.metadata.labels)) this.#enqueueForPod(job, true);
    }
  }

  /** Mirrors enqueueControllerPodUpdate and getBackoff. */
  #enqueueForPod(job: JobObject, isImmediate: boolean): void {
    const key = keyOf(job);
    const retries = this.#queue.numRequeues(key);
    const backoffMs =
      retries === 0 ? 0 : Math.min(JOB_BACKOFF.baseDelayMs * 2 ** (retries - 1), JOB_BACKOFF.maxDelayMs);
    this.#queue.addAfter(key, isImmediate ? POD_UPDATE_BATCH_PERIOD_MS : backoffMs);
  }

  /** Mirrors syncOrphanPod. */
  async #syncOrphanPod(key: string): Promise<void> {
    const pod = this.#pods.byKey(key);
    if (pod === undefined || !hasTrackingFinalizer(pod)) return;
    const job = this.#jobOf(pod);
    if (job !== undefined && !isJobFinished(job)) return;
    const { client, trace } = this.deps;
    const decision = {
      what: `remove the tracking finalizer from pod ${key}`,
      why: job === undefined ? "no job will count it" : `Job ${keyOf(job)} has finished and counts no more pods`,
      upstream: { file: FILE, func: "syncOrphanPod" },
    };
    const { namespace } = pod.metadata;
    await decide(trace, decision, () =>
      client.modify<PodObject>("pods", namespace, nameOf(pod), withoutTrackingFinalizer),
    );
  }
}
