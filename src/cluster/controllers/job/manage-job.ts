import { JOB_TRACKING } from "../../../staging/apimachinery/api/job.js";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { counted } from "../../../util/text/counted.js";
import { choosePodsToDelete } from "../support/active-pods.js";
import type { ControllerExpectations } from "../support/controller-expectations.js";
import { isNamespaceTerminating, type PodControl, type PodTemplate } from "../support/pod-control.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { SLOW_START_INITIAL_BATCH_SIZE, slowStartBatch } from "../support/slow-start-batch.js";
import { decide } from "../support/sync-loop.js";
import {
  firstPendingIndexes,
  generateNameWithIndex,
  groupByIndex,
  type Intervals,
  indexedTemplate,
  intervalsText,
  isIndexedJob,
  withIndexes,
} from "./indexed-job-utils.js";
import { isSuspended, type JobObject, withoutTrackingFinalizer } from "./utils.js";

const FILE = "pkg/controller/job/job_controller.go";
/** The rest follows with the next sync. */
const MAX_POD_CREATE_DELETE_PER_SYNC = 500;

export interface ManageJobDeps extends Pick<SharedDeps, "client" | "clock" | "trace"> {
  readonly podControl: PodControl;
  readonly expectations: ControllerExpectations;
  /** the back-off of failed pods is not over */
  mustWait(job: JobObject): boolean;
}

/** The number of active pods afterwards, and the first failure, after which the job is tried again. */
export interface Managed {
  readonly active: number;
  readonly failure?: { readonly error: unknown };
}

interface Progress {
  readonly activePods: readonly PodObject[];
  readonly succeeded: number;
  /** of an indexed job */
  readonly succeededIndexes: Intervals;
}

/** How many pods should be active, and why. Pure. Mirrors the first part of manageJob. */
function wantedActive({ spec }: JobObject, active: number, succeeded: number): { count: number; why: string } {
  const parallelism = spec?.parallelism ?? 1;
  const { completions } = spec ?? {};
  if (typeof completions === "number") {
    const left = Math.max(completions - succeeded, 0);
    const count = Math.min(left, parallelism);
    return { count, why: `${succeeded} of ${completions} completions, parallelism ${parallelism}` };
  }
  if (succeeded > 0) return { count: active, why: `${counted(succeeded, "pod")} succeeded, which is enough` };
  return { count: parallelism, why: `no pod has succeeded, parallelism ${parallelism}` };
}

/** Creates the pods that a job is missing, or deletes those that are too many. Mirrors manageJob. */
export async function manageJob(deps: ManageJobDeps, job: JobObject, progress: Progress): Promise<Managed> {
  const { activePods, succeeded } = progress;
  const active = activePods.length;
  const key = keyOf(job);
  if (isSuspended(job)) {
    if (active === 0) return { active };
    return deletePods(deps, job, activePods, `Job ${key} is suspended`, active);
  }
  const wanted = wantedActive(job, active, succeeded);
  const numbers = `${counted(active, "pod")} active, ${wanted.count} wanted: ${wanted.why}`;
  const chosen = activePodsForRemoval(job, activePods, Math.max(active - wanted.count, 0), deps.clock.now());
  if (chosen.length > 0) {
    // Either deletions or creations in one sync.
    return deletePods(deps, job, chosen.slice(0, MAX_POD_CREATE_DELETE_PER_SYNC), numbers, active);
  }
  if (active >= wanted.count || deps.mustWait(job)) return { active };
  return createPods(deps, job, progress, Math.min(wanted.count - active, MAX_POD_CREATE_DELETE_PER_SYNC), numbers);
}

/**
 * The pods to delete: of an indexed job, first those whose index is invalid or not the only one.
 * Mirrors activePodsForRemoval. Differs: a deletion cost counts too, as for a ReplicaSet.
 */
function activePodsForRemoval(job: JobObject, pods: readonly PodObject[], atLeast: number, nowMs: number): PodObject[] {
  const choose = (from: readonly PodObject[], count: number) =>
    count <= 0 ? [] : choosePodsToDelete(from, [], count, nowMs).map(({ pod }) => pod);
  if (!isIndexedJob(job)) return choose(pods, atLeast);
  const { invalid, byIndex } = groupByIndex(pods, job.spec?.completions ?? 0);
  const repeated = [...byIndex.values()].flatMap((same) => choose(same, same.length - 1));
  const removed = [...invalid, ...repeated];
  const left = pods.filter((pod) => !removed.includes(pod));
  return [...removed, ...choose(left, atLeast - removed.length)];
}

async function createPods(
  deps: ManageJobDeps,
  job: JobObject,
  { activePods, succeededIndexes }: Progress,
  missing: number,
  why: string,
): Promise<Managed> {
  const { trace, expectations, podControl } = deps;
  const key = keyOf(job);
  const name = nameOf(job);
  const template = trackedTemplate(job.spec?.template ?? {});
  const indexes = isIndexedJob(job)
    ? firstPendingIndexes(activePods, succeededIndexes, missing, job.spec?.completions ?? 0)
    : undefined;
  const count = indexes?.length ?? missing;
  if (count === 0) return { active: activePods.length };
  const which = indexes === undefined ? "" : ` with index ${intervalsText(withIndexes([], indexes))}`;
  const decision = {
    what: `create ${counted(count, "pod")} for Job ${key}${which}`,
    why,
    constants: [
      { name: "MaxPodCreateDeletePerSync", value: String(MAX_POD_CREATE_DELETE_PER_SYNC) },
      { name: "SlowStartInitialBatchSize", value: String(SLOW_START_INITIAL_BATCH_SIZE) },
    ],
    upstream: { file: FILE, func: "manageJob" },
  };
  const waiting = [...(indexes ?? [])];
  const create = async () => {
    const index = waiting.shift();
    try {
      if (index === undefined) await podControl.create(job, template);
      else {
        const own = indexedTemplate(name, template, index);
        await podControl.createWithGenerateName(job, own, generateNameWithIndex(name, index));
      }
    } catch (error) {
      // Every creation fails until the namespace is gone, and this job with it.
      if (!isNamespaceTerminating(error)) throw error;
    }
  };
  return decide(trace, decision, async () => {
    expectations.expectCreations(key, count);
    const { successes, failure } = await slowStartBatch(count, SLOW_START_INITIAL_BATCH_SIZE, create);
    // The watch will not show the pods that were not created.
    expectations.lower(key, count - successes, 0);
    return { active: activePods.length + successes, ...(failure === undefined ? {} : { failure }) };
  });
}

function trackedTemplate(template: PodTemplate): PodTemplate {
  const { finalizers = [] } = template.metadata ?? {};
  if (finalizers.includes(JOB_TRACKING)) return template;
  return { ...template, metadata: { ...template.metadata, finalizers: [...finalizers, JOB_TRACKING] } };
}

/** Deletes pods that are not counted as failed: without their finalizer. Mirrors deleteJobPods. */
async function deletePods(
  { client, trace, expectations, podControl }: ManageJobDeps,
  job: JobObject,
  pods: readonly PodObject[],
  why: string,
  active: number,
): Promise<Managed> {
  const key = keyOf(job);
  const upstream = { file: FILE, func: "manageJob, deleteJobPods" };
  const decision = { what: `delete ${counted(pods.length, "pod")} of Job ${key}`, why, upstream };
  return decide(trace, decision, async () => {
    expectations.set(key, 0, pods.length);
    const remove = async (pod: PodObject): Promise<void> => {
      let isDeleted = false;
      try {
        const free = (current: PodObject): KubeObject => withoutTrackingFinalizer(current);
        await client.modify<PodObject>("pods", pod.metadata.namespace, nameOf(pod), free);
        isDeleted = await podControl.delete(job, pod.metadata.namespace, nameOf(pod));
      } finally {
        // The watch will not show a deletion that did not happen.
        if (!isDeleted) expectations.deletionObserved(key);
      }
    };
    return outcomeOf(await Promise.allSettled(pods.map(remove)), active);
  });
}

/** Deletes the active pods of a job that failed; they count as failed. Mirrors deleteActivePods. */
export async function deleteActivePods(
  { trace, podControl }: Pick<ManageJobDeps, "trace" | "podControl">,
  job: JobObject,
  pods: readonly PodObject[],
  why: string,
): Promise<Managed> {
  if (pods.length === 0) return { active: 0 };
  const upstream = { file: FILE, func: "deleteActivePods" };
  const decision = { what: `delete ${counted(pods.length, "pod")} of Job ${keyOf(job)}`, why, upstream };
  const remove = (pod: PodObject) => podControl.delete(job, pod.metadata.namespace, nameOf(pod));
  return decide(trace, decision, async () => outcomeOf(await Promise.allSettled(pods.map(remove)), pods.length));
}

function outcomeOf(results: readonly PromiseSettledResult<unknown>[], active: number): Managed {
  const failed = results.filter((result) => result.status === "rejected");
  const left = active - (results.length - failed.length);
  return failed[0] === undefined ? { active: left } : { active: left, failure: { error: failed[0].reason } };
}
