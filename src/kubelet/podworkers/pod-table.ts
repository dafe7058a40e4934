import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { AsyncQueue } from "../../util/async/async-queue.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import type { PodWorkersObserver } from "./pod-workers-observer.js";
import { StaticPodOrder } from "./static-order.js";
import { isTerminated, isTerminationRequested, type PodSyncStatus, phaseOf } from "./sync-status.js";
import type { PodStatusFunc, PodWork } from "./update.js";

/** What a worker is doing; `cache` is the wait for a status newer than its last sync. */
export type WorkerActivity =
  | { readonly kind: "idle" }
  | { readonly kind: "cache"; readonly newerThanMs: number; readonly sinceMs: number }
  | { readonly kind: "sync"; readonly work: PodWork; readonly sinceMs: number };

/** One pod's worker. Upstream: a goroutine, its channel of one, and an entry of lastUndeliveredWorkUpdate. */
export interface Worker {
  readonly pod: V1Pod;
  readonly queue: AsyncQueue<PodWork>;
  undelivered: PodWork | undefined;
  activity: WorkerActivity;
}

/**
 * The state of all pods, and the steps from one state to the next.
 *
 * Mirrors the part of podWorkers in pkg/kubelet/pod_workers.go that is under its lock.
 */
export class PodTable {
  readonly statuses = new Map<string, PodSyncStatus>();
  readonly workers = new Map<string, Worker>();
  readonly order = new StaticPodOrder((podUid) => {
    const status = this.statuses.get(podUid);
    return status === undefined || isTerminationRequested(status) || isTerminated(status);
  });
  /** housekeeping has run once, so all pods are known */
  podsSynced = false;

  constructor(
    readonly clock: Clock,
    readonly observer: PodWorkersObserver,
  ) {}

  /** Creates the worker of a pod. */
  addWorker(pod: V1Pod): Worker {
    const worker: Worker = { pod, queue: new AsyncQueue(1), undelivered: undefined, activity: { kind: "idle" } };
    this.workers.set(pod.metadata.uid, worker);
    return worker;
  }

  /** The signal of a pod's sync functions; a new one after the last was aborted. Mirrors contextForWorker. */
  contextFor(podUid: string): AbortSignal {
    const status = this.statuses.get(podUid);
    if (status === undefined) return new AbortController().signal;
    if (status.cancel === undefined || status.cancel.signal.aborted) status.cancel = new AbortController();
    return status.cancel.signal;
  }

  /** Records that the worker knows that its pod must end. Mirrors acknowledgeTerminating. @returns the function that adds the last status */
  acknowledgeTerminating(pod: V1Pod): PodStatusFunc | undefined {
    const status = this.statuses.get(pod.metadata.uid);
    if (status === undefined) return undefined;
    if (isTerminationRequested(status) && !status.startedTerminating) {
      status.startedTerminating = true;
      this.observer.acknowledgesTerminating(pod);
    }
    return status.statusPostTerminating.at(-1);
  }

  /** Records that syncPod reported the pod's natural end. Mirrors completeSync. */
  completeSync(pod: V1Pod): void {
    const causedBy = this.#change(pod, "completeSync", (status, nowMs) => {
      status.terminatingAtMs ??= nowMs;
      status.startedTerminating = true;
    });
    this.#next(pod, "terminating", causedBy);
  }

  /** Records that no container of the pod runs. Mirrors completeTerminating. */
  completeTerminating(pod: V1Pod): void {
    const causedBy = this.#change(pod, "completeTerminating", (status, nowMs) => {
      status.terminatedAtMs = nowMs;
      for (const completedCh of status.notifyPostTerminating) completedCh.close();
      status.notifyPostTerminating = [];
      status.statusPostTerminating = [];
    });
    this.#next(pod, "terminated", causedBy);
  }

  /** Records that a pod that only the runtime knew is gone. Mirrors completeTerminatingRuntimePod. */
  completeTerminatingRuntimePod(pod: V1Pod): void {
    this.#finish(pod, "completeTerminatingRuntimePod", true);
  }

  /** Records that all is cleaned up. Mirrors completeTerminated. */
  completeTerminated(pod: V1Pod): void {
    this.#finish(pod, "completeTerminated", false);
  }

  /** Records that a static pod ended while it waited for another pod of its name. Mirrors completeUnstartedTerminated. */
  completeUnstartedTerminated(pod: V1Pod): void {
    this.#finish(pod, "completeUnstartedTerminated", true);
  }

  /** Gives the worker its next work, or marks it idle. Mirrors completeWorkQueueNext. */
  completeWorkQueueNext(podUid: string): void {
    const worker = this.workers.get(podUid);
    const status = this.statuses.get(podUid);
    if (worker !== undefined) this.observer.completes(worker.pod, worker.undelivered);
    if (worker?.undelivered !== undefined) {
      worker.queue.push(worker.undelivered);
      worker.undelivered = undefined;
    } else if (status !== undefined) status.working = false;
  }

  /** Forgets a finished pod, so that a pod with the same uid can start. Mirrors removeTerminatedWorker. */
  removeTerminatedWorker(podUid: string): void {
    const status = this.statuses.get(podUid);
    if (status === undefined || !status.finished) return;
    this.statuses.delete(podUid);
    this.cleanupPodUpdates(podUid);
    this.order.release(status.fullName, podUid);
    this.observer.forgets(podUid, status.restartRequested);
  }

  /** Ends the worker. Mirrors cleanupPodUpdates. */
  cleanupPodUpdates(podUid: string): void {
    this.workers.get(podUid)?.queue.close();
    this.workers.delete(podUid);
  }

  /** @returns the id of the fact about the new phase */
  #change(pod: V1Pod, func: string, change: (status: PodSyncStatus, nowMs: number) => void): string | undefined {
    const status = this.statuses.get(pod.metadata.uid);
    if (status === undefined) return undefined;
    const from = phaseOf(status);
    change(status, this.clock.now());
    return this.observer.phase(pod, from, phaseOf(status), func);
  }

  #finish(pod: V1Pod, func: string, terminatesNow: boolean): void {
    const podUid = pod.metadata.uid;
    this.#change(pod, func, (status, nowMs) => {
      if (terminatesNow) status.terminatedAtMs = nowMs;
      status.finished = true;
      status.working = false;
      this.order.release(status.fullName, podUid);
    });
    this.cleanupPodUpdates(podUid);
  }

  /** Queues a step's follow-up before, and instead of, any other waiting work. */
  #next(pod: V1Pod, workType: PodWork["workType"], causedBy: string | undefined): void {
    const worker = this.workers.get(pod.metadata.uid);
    if (worker === undefined) return;
    const scope = this.observer.trace.keepScope(defined({ causedBy }));
    worker.undelivered = { workType, updateType: "sync", pod, merged: 1, ...scope };
  }
}
