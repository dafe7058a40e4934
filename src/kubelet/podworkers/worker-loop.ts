import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Ctx } from "../../trace/ctx.js";
import { runInScope } from "../../trace/scope.js";
import { defined } from "../../util/defined.js";
import { isAbortError, messageOf } from "../../util/errors.js";
import { type Random, randomOf } from "../../util/random.js";
import { factFor } from "../../util/release/facts.js";
import type { PodCache } from "../container/cache.js";
import type { PodStatus } from "../container/runtime.js";
import type { PodEventRecorder } from "../events/pod-recorder.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";
import { isStaticPod, podText } from "../types/pod-update.js";
import type { PodTable, Worker } from "./pod-table.js";
import { isTerminationRequested } from "./sync-status.js";
import { type BackOffPeriod, NETWORK_NOT_READY_ERROR_MSG, type PodSyncer, type PodWork } from "./update.js";
import type { WorkQueue } from "./work-queue.js";

export interface WorkerDeps extends Ctx {
  readonly syncer: PodSyncer;
  readonly podCache: Pick<PodCache, "get" | "getNewerThan">;
  readonly workQueue: WorkQueue;
  readonly recorder: PodEventRecorder;
  readonly metrics?: KubeletMetrics;
}

export interface WorkerOptions {
  readonly kubeVersion: string;
  /** ms until the next sync of a pod whose sync succeeded; default: the kubelet's syncFrequency */
  readonly resyncIntervalMs?: number;
}

type SyncOutcome =
  | { readonly kind: "ok"; readonly isTerminal: boolean }
  | { readonly kind: "canceled" | "failed"; readonly error: unknown };

/**
 * One worker: takes one piece of work at a time, until its pod has finished or `signal` aborts.
 *
 * Mirrors managePodLoop in pkg/kubelet/pod_workers.go.
 */
export async function managePodLoop(
  deps: WorkerDeps,
  options: WorkerOptions,
  table: PodTable,
  worker: Worker,
  signal: AbortSignal,
): Promise<void> {
  let lastSyncTimeMs = Number.NEGATIVE_INFINITY;
  let podStarted = false;
  const handle = async (work: PodWork): Promise<"worker-ends" | "worker-stays"> => {
    if (!podStarted) {
      const start = allowPodStart(deps, options, table, work.pod);
      if (start === "never") {
        table.completeUnstartedTerminated(work.pod);
        observeWork(deps, work, "terminated");
        return "worker-ends";
      }
      if (start === "not-yet") return "worker-stays";
      podStarted = true;
    }
    const outcome = await syncOnce(deps, table, worker, work, lastSyncTimeMs, signal);
    worker.activity = { kind: "idle" };
    // A kubelet that stops leaves its pods running: the next one adopts them.
    if (signal.aborted) return "worker-ends";
    if (outcome.syncedAtMs !== undefined) lastSyncTimeMs = outcome.syncedAtMs;
    if (completeStep(table, work, outcome) === "worker-ends") {
      observeWork(deps, work, "terminated");
      return "worker-ends";
    }
    requeue(deps, options, table, work, outcome);
    table.completeWorkQueueNext(work.pod.metadata.uid);
    observeWork(deps, work, work.updateType);
    return "worker-stays";
  };
  for await (const work of worker.queue.iterate(signal)) {
    if ((await runInScope(work.scope, () => handle(work))) === "worker-ends") return;
  }
}

/** The time since the change was seen, also if the work has failed. */
function observeWork({ metrics, clock }: WorkerDeps, { startTimeMs }: PodWork, operation: string): void {
  if (startTimeMs === undefined) return;
  const labels = { operation_type: operation };
  metrics?.observe("kubelet_pod_worker_duration_seconds", clock.now() - startTimeMs, labels);
}

/** Mirrors allowPodStart: static pods of one name start one after the other. */
function allowPodStart(
  deps: WorkerDeps,
  options: WorkerOptions,
  table: PodTable,
  pod: V1Pod,
): "now" | "not-yet" | "never" {
  if (!isStaticPod(pod)) return "now";
  const { uid } = pod.metadata;
  const status = table.statuses.get(uid);
  if (status === undefined || isTerminationRequested(status)) return "never";
  if (table.order.allow(status.fullName, uid)) return "now";
  const delayMs = backOffMs(deps.random, "podWorkerBackOffPeriod", options.kubeVersion);
  table.observer.waitsForName(pod, table.order.startedUid(status.fullName));
  deps.workQueue.enqueue(uid, delayMs);
  status.working = false;
  return "not-yet";
}

async function syncOnce(
  deps: WorkerDeps,
  table: PodTable,
  worker: Worker,
  work: PodWork,
  lastSyncTimeMs: number,
  signal: AbortSignal,
): Promise<SyncOutcome & { readonly syncedAtMs?: number }> {
  let podStatus: PodStatus | undefined;
  try {
    podStatus = await newStatus(deps, worker, work, lastSyncTimeMs, signal);
  } catch (error) {
    if (!signal.aborted) {
      deps.recorder.event(work.pod, "Warning", "FailedSync", `error determining status: ${messageOf(error)}`);
    }
    return outcomeOf(error);
  }
  const nowMs = deps.clock.now();
  worker.activity = { kind: "sync", work, sinceMs: nowMs };
  try {
    const isTerminal = await callSyncer(deps.syncer, table, work, podStatus);
    return { kind: "ok", isTerminal, syncedAtMs: deps.clock.now() };
  } catch (error) {
    return { ...outcomeOf(error), syncedAtMs: deps.clock.now() };
  }
}

/**
 * The pod's status, newer than the last sync, so that a worker always sees the effect of its own last step. A pod that
 * only the runtime knows needs none.
 */
async function newStatus(
  deps: WorkerDeps,
  worker: Worker,
  work: PodWork,
  newerThanMs: number,
  signal: AbortSignal,
): Promise<PodStatus | undefined> {
  if (work.runningPod !== undefined) return undefined;
  worker.activity = { kind: "cache", newerThanMs, sinceMs: deps.clock.now() };
  const { status, error } = await deps.podCache.getNewerThan(work.pod.metadata.uid, newerThanMs, signal);
  if (error !== undefined && error !== null) throw error;
  return status;
}

async function callSyncer(
  syncer: PodSyncer,
  table: PodTable,
  work: PodWork,
  podStatus: PodStatus | undefined,
): Promise<boolean> {
  const { pod, runningPod, mirrorPod, gracePeriodSeconds, updateType, workType } = work;
  const signal = table.contextFor(pod.metadata.uid);
  table.observer.calls(work);
  if (workType === "terminating") {
    const podStatusFunc = table.acknowledgeTerminating(pod);
    const optional = defined({ podStatus, runningPod, gracePeriodSeconds, podStatusFunc });
    await syncer.syncTerminatingPod({ pod, ...optional }, signal);
    return false;
  }
  if (podStatus === undefined) throw new Error(`the cache has an entry without a status for ${podText(pod)}`);
  if (workType === "terminated") {
    await syncer.syncTerminatedPod({ pod, podStatus }, signal);
    return false;
  }
  return (await syncer.syncPod({ updateType, pod, podStatus, ...defined({ mirrorPod }) }, signal)).isTerminal;
}

/** Takes the pod to its next state if this step completed one. */
function completeStep(table: PodTable, { workType, pod, runningPod }: PodWork, outcome: SyncOutcome) {
  if (outcome.kind !== "ok") return "worker-stays";
  if (workType === "terminated") {
    table.completeTerminated(pod);
    return "worker-ends";
  }
  if (workType === "terminating") {
    if (runningPod !== undefined) {
      table.completeTerminatingRuntimePod(pod);
      return "worker-ends";
    }
    table.completeTerminating(pod);
  } else if (outcome.isTerminal) table.completeSync(pod);
  return "worker-stays";
}

/** Schedules the pod's next sync: caused by what failed or ended, or by nothing but the time. Mirrors completeWork. */
function requeue(
  { workQueue, random, trace }: WorkerDeps,
  { kubeVersion, resyncIntervalMs = factFor("podResyncInterval", kubeVersion) }: WorkerOptions,
  table: PodTable,
  { workType, pod }: PodWork,
  outcome: SyncOutcome,
): void {
  const { uid } = pod.metadata;
  const own = randomOf(random, uid);
  if (outcome.kind === "ok") {
    const phaseTransition = workType === "terminating" || outcome.isTerminal;
    const factor = factFor("podWorkerResyncJitterFactor", kubeVersion);
    if (phaseTransition) workQueue.enqueue(uid, 0);
    else trace.origin("timer", () => workQueue.enqueue(uid, jitter(own, resyncIntervalMs, factor)));
    return;
  }
  const text = messageOf(outcome.error);
  const isTransient = text.includes(NETWORK_NOT_READY_ERROR_MSG);
  const period = isTransient ? "podWorkerTransientBackOffPeriod" : "podWorkerBackOffPeriod";
  const delayMs = backOffMs(own, period, kubeVersion);
  const failure = outcome.kind === "canceled" ? undefined : text;
  const causedBy = table.observer.retries(pod, delayMs, failure, period, kubeVersion);
  trace.because({ causedBy }, () => workQueue.enqueue(uid, delayMs));
}

function backOffMs(random: Random, period: BackOffPeriod, kubeVersion: string): number {
  return jitter(random, factFor(period, kubeVersion), factFor("podWorkerBackOffJitterFactor", kubeVersion));
}

function outcomeOf(error: unknown): SyncOutcome {
  return { kind: isAbortError(error) ? "canceled" : "failed", error };
}

/** Mirrors k8s.io/apimachinery/pkg/util/wait (Jitter). */
function jitter(random: Random, ms: number, factor: number): number {
  return ms + random.float() * factor * ms;
}
