import type { V1UncountedTerminatedPods } from "@kubernetes/client-node";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf, type PodObject, withoutZeros } from "../../../staging/apimachinery/api/objects.js";
import { isPodPhaseTerminal } from "../../../staging/apimachinery/api/pod.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import type { Draft } from "../../../util/draft.js";
import { counted } from "../../../util/text/counted.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { decide } from "../support/sync-loop.js";
import type { WrittenVersions } from "../support/written-versions.js";
import {
  completionIndexOf,
  type Intervals,
  includesIndex,
  intervalsText,
  isIndexedJob,
  totalOf,
  withIndexes,
} from "./indexed-job-utils.js";
import { countsAsFailure, hasValidIndex, jobText } from "./status.js";
import type { FinalizerExpectations } from "./tracking-utils.js";
import {
  hasTrackingFinalizer,
  JOBS,
  type JobCondition,
  type JobObject,
  type JobStatus,
  newCondition,
  withCondition,
  withoutTrackingFinalizer,
} from "./utils.js";

const FILE = "pkg/controller/job/job_controller.go";
/** Bounds the size of a job's status. The rest follows with the next sync. */
const MAX_UNCOUNTED_PODS = 500;

export interface TrackerDeps extends Pick<SharedDeps, "client" | "clock" | "trace"> {
  readonly recorder: EventRecorder;
  readonly finalizers: FinalizerExpectations;
  readonly written: WrittenVersions;
}

export interface Tracked {
  /** with the status that the sync calculated so far */
  readonly job: JobObject;
  readonly pods: readonly PodObject[];
  /** that the stored status has */
  readonly succeededIndexes: Intervals;
  /** UIDs of pods that are counted already, whatever the cache shows */
  readonly removed: ReadonlySet<string>;
  readonly finished: JobCondition | undefined;
  readonly needsFlush: boolean;
}

type Uncounted = Draft<Wire<V1UncountedTerminatedPods>>;

/**
 * Counts each finished pod exactly once, even if the controller or the API server fails in between. The pod's UID is written to
 * the job's status; then the pod loses its finalizer, so that it can be deleted; then the UID becomes a number. Last, the job
 * gets its final condition.
 *
 * Mirrors trackJobStatusAndRemoveFinalizers in pkg/controller/job/job_controller.go.
 */
export class JobTracker {
  constructor(readonly deps: TrackerDeps) {}

  /** @returns the job as it is stored @throws the API server's refusal, if only of one pod's update */
  async track(tracked: Tracked): Promise<JobObject> {
    const { pods, removed } = tracked;
    let { job, finished, needsFlush } = tracked;
    const withFinalizer = new Set(
      pods.filter((pod) => hasTrackingFinalizer(pod) && !removed.has(uidOf(pod))).map((pod) => uidOf(pod)),
    );
    const cleaned = withoutCounted(job, withFinalizer);
    needsFlush ||= cleaned !== job;
    const found = this.#findFinished({ ...tracked, job: cleaned });
    job = found.job;
    needsFlush ||= found.isNew;
    if (finished?.type === "FailureTarget") {
      // Stored before the pods can go, because the final message is about one of them.
      job = withStatus(job, { conditions: withCondition(job.status?.conditions ?? [], finished) });
      needsFlush = true;
      finished = this.#condition("Failed", finished);
    }
    const flushed = await this.#flush(job, found.toFree, withFinalizer, needsFlush);
    job = flushed.job;
    const done = this.#enactFinished(job, finished);
    if (done === undefined && !flushed.needsFlush) return job;
    return this.#write(done ?? job);
  }

  #condition(type: string, { reason = "", message = "" }: JobCondition): JobCondition {
    return newCondition(type, "True", [reason, message], this.deps.clock.now());
  }

  /** Pods that ended since, of those with a finalizer. */
  #findFinished({ job, pods, removed, finished, succeededIndexes }: Tracked) {
    const { succeeded = [], failed = [] } = job.status?.uncountedTerminatedPods ?? {};
    const fresh = { succeeded: [...succeeded], failed: [...failed] };
    const indexes: number[] = [];
    const toFree: PodObject[] = [];
    const isIndexed = isIndexedJob(job);
    const known = new Set([...succeeded, ...failed]);
    for (const pod of isIndexed ? [...pods].sort(byIndex) : pods) {
      const uid = uidOf(pod);
      if (!hasTrackingFinalizer(pod) || removed.has(uid)) continue;
      const phase = pod.status?.phase;
      // A job that is over deletes its active pods: they count as failed.
      const isEnding = pod.metadata.deletionTimestamp !== undefined || finished !== undefined;
      const isOver = isPodPhaseTerminal(phase);
      if (isOver || isEnding || job.metadata.deletionTimestamp !== undefined) toFree.push(pod);
      if (!known.has(uid) && hasValidIndex(job, pod)) {
        const index = completionIndexOf(pod) ?? 0;
        if (phase === "Succeeded" && !isIndexed) fresh.succeeded.push(uid);
        // The index is enough to count it once.
        else if (phase === "Succeeded" && !includesIndex(succeededIndexes, index)) indexes.push(index);
        else if (phase !== "Succeeded" && (isOver || isEnding) && countsAsFailure(job, pod)) fresh.failed.push(uid);
      }
      if (indexes.length + fresh.succeeded.length + fresh.failed.length >= MAX_UNCOUNTED_PODS) break;
    }
    const isNew = indexes.length > 0 || fresh.succeeded.length + fresh.failed.length > known.size;
    const all = withIndexes(succeededIndexes, indexes);
    const counts = indexes.length === 0 ? {} : { succeeded: totalOf(all), completedIndexes: intervalsText(all) };
    return { job: withStatus(job, { ...counts, uncountedTerminatedPods: uncountedOf(fresh) }), toFree, isNew };
  }

  /** Mirrors flushUncountedAndRemoveFinalizers. */
  async #flush(
    before: JobObject,
    toFree: readonly PodObject[],
    withFinalizer: Set<string>,
    needsFlush: boolean,
  ): Promise<{ job: JobObject; needsFlush: boolean }> {
    const job = needsFlush ? await this.#write(before) : before;
    const failure = toFree.length === 0 ? undefined : await this.#free(job, toFree, withFinalizer);
    const counted = withoutCounted(job, withFinalizer);
    if (failure === undefined) return { job: counted, needsFlush: counted !== job };
    if (counted !== job) await this.#write(counted);
    throw failure.error;
  }

  /** Mirrors removeTrackingFinalizerFromPods. @param withFinalizer loses the UIDs of the pods that have none now */
  async #free(
    job: JobObject,
    pods: readonly PodObject[],
    withFinalizer: Set<string>,
  ): Promise<{ error: unknown } | undefined> {
    const { client, finalizers, trace } = this.deps;
    const key = keyOf(job);
    const { succeeded = [], failed = [] } = job.status?.uncountedTerminatedPods ?? {};
    const decision = {
      what: `remove the tracking finalizer from ${counted(pods.length, "pod")} of Job ${key}`,
      why: `the status keeps them now: ${succeeded.length} succeeded and ${failed.length} failed wait to be counted`,
      upstream: { file: FILE, func: "removeTrackingFinalizerFromPods" },
    };
    const free = async (pod: PodObject): Promise<void> => {
      try {
        const { namespace } = pod.metadata;
        const change = (current: PodObject) =>
          uidOf(current) === uidOf(pod) ? withoutTrackingFinalizer(current) : current;
        const left = await client.modify<PodObject>("pods", namespace, nameOf(pod), change);
        if (left === undefined) finalizers.observed(key, uidOf(pod));
        withFinalizer.delete(uidOf(pod));
      } catch (error) {
        // The watch will show no update.
        finalizers.observed(key, uidOf(pod));
        throw error;
      }
    };
    finalizers.expectRemoved(key, pods.map(uidOf));
    const results = await decide(trace, decision, () => Promise.allSettled(pods.map(free)), 2);
    const failure = results.find((result) => result.status === "rejected");
    return failure && { error: failure.reason };
  }

  /** @returns undefined while the job is not over, or has pods to count. Mirrors enactJobFinished. */
  #enactFinished(job: JobObject, finished: JobCondition | undefined): JobObject | undefined {
    const { uncountedTerminatedPods: uncounted, succeeded = 0, failed = 0, conditions = [] } = job.status ?? {};
    if (finished === undefined || (uncounted?.succeeded ?? []).length + (uncounted?.failed ?? []).length > 0) return;
    const { recorder, trace } = this.deps;
    const { completions } = job.spec ?? {};
    const { reason = "", message = "", lastTransitionTime } = finished;
    const isComplete = finished.type === "Complete";
    const about = referenceTo(job);
    const done = withStatus(job, {
      conditions: withCondition(conditions, finished),
      ...(isComplete && lastTransitionTime ? { completionTime: lastTransitionTime } : {}),
    });
    const decision = {
      what: `finish ${jobText(job)}: ${finished.type}`,
      why: isComplete
        ? `${succeeded} of ${completions ?? 1} completions, ${failed} failed`
        : `${reason}: ${message} (${succeeded} succeeded, ${failed} failed)`,
      upstream: { file: FILE, func: "enactJobFinished" },
    };
    decide(trace, decision, () => {
      if (!isComplete) recorder.event(about, "Warning", reason, message);
      else {
        if (typeof completions === "number" && succeeded > completions) {
          const note = "Too many succeeded pods running after completion count reached";
          recorder.event(about, "Warning", "TooManySucceededPods", note);
        }
        recorder.event(about, "Normal", "Completed", "Job completed");
      }
    });
    return done;
  }

  async #write(job: JobObject): Promise<JobObject> {
    const { trace, client } = this.deps;
    const { active = 0, ready = 0, succeeded = 0, failed = 0, conditions = [] } = job.status ?? {};
    const ends = conditions.filter(({ status }) => status === "True").map(({ type }) => type);
    const decision = {
      what: `write the status of ${jobText(job)}`,
      why: [`active ${active}, ready ${ready}, succeeded ${succeeded}, failed ${failed}`, ...ends].join(", "),
      upstream: { file: FILE, func: "updateJobStatus" },
    };
    const stored = await decide(trace, decision, () => client.update<JobObject>(JOBS, job, "status"), 2);
    this.deps.written.wrote(stored);
    return stored;
  }
}

function uidOf({ metadata }: PodObject): string {
  return metadata.uid ?? "";
}

function byIndex(a: PodObject, b: PodObject): number {
  return (completionIndexOf(a) ?? -1) - (completionIndexOf(b) ?? -1);
}

/** Counts of 0 are absent, as in Go. */
export function withStatus(job: JobObject, changes: Partial<JobStatus>): JobObject {
  const { active, succeeded, failed, ...rest } = { ...job.status, ...changes };
  return { ...job, status: { ...rest, ...withoutZeros({ active, succeeded, failed }) } as JobStatus };
}

function uncountedOf({ succeeded = [], failed = [] }: Wire<V1UncountedTerminatedPods>): Uncounted {
  return { ...(succeeded.length > 0 ? { succeeded } : {}), ...(failed.length > 0 ? { failed } : {}) };
}

/** Turns UIDs of pods without a finalizer into numbers. @returns the same job if there are none. Mirrors cleanUncountedPodsWithoutFinalizers. */
function withoutCounted(job: JobObject, withFinalizer: ReadonlySet<string>): JobObject {
  const { succeeded = 0, failed = 0, uncountedTerminatedPods: uncounted } = job.status ?? {};
  const waiting = { succeeded: uncounted?.succeeded ?? [], failed: uncounted?.failed ?? [] };
  const left = {
    succeeded: waiting.succeeded.filter((uid) => withFinalizer.has(uid)),
    failed: waiting.failed.filter((uid) => withFinalizer.has(uid)),
  };
  const counted = {
    succeeded: waiting.succeeded.length - left.succeeded.length,
    failed: waiting.failed.length - left.failed.length,
  };
  if (counted.succeeded + counted.failed === 0) return job;
  return withStatus(job, {
    succeeded: succeeded + counted.succeeded,
    failed: failed + counted.failed,
    uncountedTerminatedPods: uncountedOf(left),
  });
}
