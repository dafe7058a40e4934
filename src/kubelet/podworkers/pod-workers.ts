import { setMaxListeners } from "node:events";
import { isPodPhaseTerminal, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import { defined } from "../../util/defined.js";
import { isSet } from "../../util/records.js";
import { factFor } from "../../util/release/facts.js";
import { getPodFullName, isStaticPod, podText } from "../types/pod-update.js";
import { calculateEffectiveGracePeriod } from "./grace-period.js";
import { PodTable, type WorkerActivity } from "./pod-table.js";
import { PodWorkersObserver } from "./pod-workers-observer.js";
import {
  isTerminated,
  isTerminationRequested,
  newOverStatus,
  newSyncStatus,
  type PodSyncStatus,
  type PodWorkerState,
  phaseOf,
  workerStateOf,
} from "./sync-status.js";
import { type PodWork, toApiPod, type UpdatePodOptions } from "./update.js";
import { managePodLoop, type WorkerDeps, type WorkerOptions } from "./worker-loop.js";

/** One pod's worker state, for the inspector. */
export interface PodWorkerView {
  readonly podUid: string;
  /** `name_namespace` */
  readonly fullName: string;
  readonly phase: ReturnType<typeof phaseOf>;
  readonly working: boolean;
  readonly evicted: boolean;
  readonly deleted: boolean;
  readonly restartRequested: boolean;
  readonly activity: WorkerActivity;
  /** the update that comes next, once the worker is free */
  readonly pending: PodWork | undefined;
}

/**
 * One worker per pod: each receives changes, and calls one sync function at a time.
 *
 * A pod is synced (it should run), then terminating (its containers are being stopped, none is started any more), then
 * terminated (none runs), then finished (cleaned up). It never goes back: a pod with the same uid can start only after
 * housekeeping has forgotten this one. Changes that arrive while a worker is busy are merged into the newest.
 *
 * Mirrors pkg/kubelet/pod_workers.go (podWorkers, UpdatePod, SyncKnownPods and the queries).
 */
export class PodWorkers {
  readonly #observer: PodWorkersObserver;
  readonly #table: PodTable;
  readonly #stop = new AbortController();
  readonly #loops = new Set<Promise<void>>();

  constructor(
    readonly deps: WorkerDeps,
    readonly options: WorkerOptions,
  ) {
    this.#observer = new PodWorkersObserver(deps.trace);
    this.#table = new PodTable(deps.clock, this.#observer);
    // Each worker listens to it.
    setMaxListeners(0, this.#stop.signal);
  }

  /** Sends a change to a pod's worker; returns at once. Mirrors UpdatePod. */
  updatePod(options: UpdatePodOptions): void {
    if (this.#stop.signal.aborted) return;
    const pod = options.pod ?? toApiPod(options.runningPod);
    this.deps.trace.because({ pod: podText(pod) }, () => this.#updatePod(pod, options));
  }

  #updatePod(pod: V1Pod, options: UpdatePodOptions): void {
    const isRuntimePod = options.pod === undefined;
    if (isRuntimePod && options.updateType !== "kill") {
      this.#observer.ignored(pod);
      return;
    }
    const { uid } = pod.metadata;
    const known = this.#table.statuses.get(uid);
    const status = known ?? this.#seenFirst(pod, isRuntimePod);
    const isCleanedUp = known === undefined && this.#cleansUpAgain;
    if (isTerminationRequested(status) && options.updateType === "create" && !isCleanedUp) {
      status.restartRequested = true;
      this.#observer.startsLater(pod);
      return;
    }
    if (status.finished) return;
    const from = phaseOf(status);
    const becameTerminating = !isTerminationRequested(status) && this.#checkTermination(status, pod, options);
    this.#observer.phase(pod, from, phaseOf(status), "UpdatePod");
    const decided = this.#decideWork(status, pod, options, isRuntimePod);
    if (decided !== undefined) this.#deliver(status, decided.work, becameTerminating || decided.isGracePeriodShortened);
  }

  /**
   * Forgets pods that have finished and are not desired any more. After the first call an unknown pod counts as gone.
   * @returns the state of each pod, including those forgotten just now. Mirrors SyncKnownPods.
   */
  syncKnownPods(desiredPods: readonly V1Pod[]): Map<string, PodWorkerState> {
    const desired = new Set(desiredPods.map(({ metadata }) => metadata.uid));
    this.#table.podsSynced = true;
    const workers = new Map<string, PodWorkerState>();
    for (const [podUid, status] of this.#table.statuses) {
      if (!desired.has(podUid) || status.restartRequested) this.#table.removeTerminatedWorker(podUid);
      workers.set(podUid, workerStateOf(status));
    }
    return workers;
  }

  /** All containers of the pod are stopped; false for an unknown pod. */
  isPodKnownTerminated(podUid: string): boolean {
    const status = this.#table.statuses.get(podUid);
    return status !== undefined && isTerminated(status);
  }

  /** The pod may have running containers; safe to call before all pods are known. */
  couldHaveRunningContainers(podUid: string): boolean {
    const status = this.#table.statuses.get(podUid);
    return status === undefined ? !this.#table.podsSynced : !isTerminated(status);
  }

  /** The pod must end, though it may still be starting; false for an unknown pod. */
  isPodTerminationRequested(podUid: string): boolean {
    const status = this.#table.statuses.get(podUid);
    return status !== undefined && isTerminationRequested(status);
  }

  /** No container of the pod will be started again, so probes and the like may stop. */
  shouldPodContainersBeTerminating(podUid: string): boolean {
    return this.#table.statuses.get(podUid)?.startedTerminating ?? this.#table.podsSynced;
  }

  /** No container of the pod runs: its remains in the runtime may be removed. */
  shouldPodRuntimeBeRemoved(podUid: string): boolean {
    const status = this.#table.statuses.get(podUid);
    return status === undefined ? this.#table.podsSynced : isTerminated(status);
  }

  /** The pod was evicted, or deleted and terminated: its files may be removed. */
  shouldPodContentBeRemoved(podUid: string): boolean {
    const status = this.#table.statuses.get(podUid);
    if (status === undefined) return this.#table.podsSynced;
    return status.evicted || (status.deleted && isTerminated(status));
  }

  /** No container runs, but the worker has not recorded yet how they ended: they must stay until then. */
  isPodCleaningUp(podUid: string): boolean {
    const status = this.#table.statuses.get(podUid);
    return status !== undefined && isTerminated(status) && !status.finished;
  }

  /** A static pod of that name is ending: its mirror pod must stay until then. */
  isPodForMirrorPodTerminatingByFullName(podFullName: string): boolean {
    const status = this.#table.statuses.get(this.#table.order.startedUid(podFullName) ?? "");
    return status !== undefined && isTerminationRequested(status) && !isTerminated(status);
  }

  /** The current state of all workers. */
  views(): PodWorkerView[] {
    return [...this.#table.statuses].map(([podUid, status]) => {
      const worker = this.#table.workers.get(podUid);
      const { fullName, working, evicted, deleted, restartRequested } = status;
      const activity = worker?.activity ?? { kind: "idle" };
      const flags = { working, evicted, deleted, restartRequested };
      return { podUid, fullName, phase: phaseOf(status), ...flags, activity, pending: worker?.undelivered };
    });
  }

  /** Stops all workers; pods keep running. */
  async close(): Promise<void> {
    this.#stop.abort();
    for (const { cancel } of this.#table.statuses.values()) cancel?.abort();
    await Promise.allSettled(this.#loops);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * From v1.27 on deleted pods reach a final phase before they are deleted. A pod first seen in a final phase may be
   * the leftover of an earlier kubelet: it is cleaned up once more, so that it is deleted.
   */
  get #cleansUpAgain(): boolean {
    return factFor("deletedPodsEnd", this.options.kubeVersion);
  }

  /** A pod first seen in a final phase, with nothing running, only needs cleaning up. */
  #seenFirst(pod: V1Pod, isRuntimePod: boolean): PodSyncStatus {
    const { uid } = pod.metadata;
    const nowMs = this.deps.clock.now();
    const isOver = !isRuntimePod && isPodPhaseTerminal(pod.status.phase) && this.#runsNothing(uid);
    const fullName = getPodFullName(pod);
    const status = isOver ? newOverStatus(fullName, nowMs, !this.#cleansUpAgain) : newSyncStatus(fullName, nowMs);
    this.#table.statuses.set(uid, status);
    this.#observer.phase(pod, undefined, phaseOf(status), "UpdatePod");
    return status;
  }

  /** Mirrors isPodStatusCacheTerminal. */
  #runsNothing(podUid: string): boolean {
    const { status, error } = this.deps.podCache.get(podUid);
    if (error !== undefined && error !== null) return false;
    const { containerStatuses = [], sandboxStatuses = [] } = status ?? {};
    return (
      !containerStatuses.some(({ state }) => state === "running") &&
      !sandboxStatuses.some(({ state }) => state === "ready")
    );
  }

  /** Decides whether and why the pod must end. @returns true when it must, from now on */
  #checkTermination(status: PodSyncStatus, pod: V1Pod, options: UpdatePodOptions): boolean {
    let why: string;
    if (options.pod === undefined) {
      status.deleted = true;
      why = "only the runtime knows it, so it is an orphan";
    } else if (isSet(pod.metadata.deletionTimestamp)) {
      status.deleted = true;
      why = "it was deleted through the API";
    } else if (isPodPhaseTerminal(pod.status.phase)) {
      why = `its phase is ${pod.status.phase}`;
    } else if (options.updateType === "kill") {
      status.evicted = options.killPodOptions?.evict === true;
      why = status.evicted ? "the kubelet evicts it" : "no source has it any more, or the kubelet ends it";
    } else return false;
    status.terminatingAtMs = this.deps.clock.now();
    this.#observer.terminates(pod, why);
    return true;
  }

  /** @returns undefined when there is nothing to do */
  #decideWork(
    status: PodSyncStatus,
    pod: V1Pod,
    { updateType, mirrorPod, startTimeMs, killPodOptions, ...options }: UpdatePodOptions,
    isRuntimePod: boolean,
  ): { readonly work: PodWork; readonly isGracePeriodShortened: boolean } | undefined {
    const work = {
      updateType,
      pod,
      merged: 1,
      ...defined({ mirrorPod, startTimeMs }),
      ...this.deps.trace.keepScope(),
      ...(isRuntimePod && options.runningPod !== undefined ? { runningPod: options.runningPod } : {}),
    };
    if (isTerminated(status)) {
      // Housekeeping saw an old list of the runtime: the worker has already stopped the containers.
      if (isRuntimePod) return undefined;
      killPodOptions?.completedCh?.close();
      return { work: { ...work, workType: "terminated" }, isGracePeriodShortened: false };
    }
    if (!isTerminationRequested(status)) {
      killPodOptions?.completedCh?.close();
      return { work: { ...work, workType: "sync" }, isGracePeriodShortened: false };
    }
    const { completedCh, podStatusFunc } = killPodOptions ?? {};
    if (completedCh !== undefined) status.notifyPostTerminating.push(completedCh);
    if (podStatusFunc !== undefined) status.statusPostTerminating.push(podStatusFunc);
    const grace = calculateEffectiveGracePeriod(status.gracePeriod, pod, killPodOptions ?? {});
    status.gracePeriod = grace.gracePeriodSeconds;
    return {
      work: { ...work, workType: "terminating", gracePeriodSeconds: grace.gracePeriodSeconds },
      isGracePeriodShortened: grace.isShortened,
    };
  }

  /** Gives work to the worker, or stores it until the worker is free; starts the worker if there is none. */
  #deliver(status: PodSyncStatus, work: PodWork, cancelsCurrent: boolean): void {
    const { pod } = work;
    const { uid } = pod.metadata;
    const worker = this.#table.workers.get(uid) ?? this.#startWorker(status, pod);
    if (!status.working) {
      this.#observer.delivers(work, true);
      status.working = true;
      worker.queue.push(work);
      return;
    }
    const waiting = worker.undelivered;
    const startTimeMs = minOf(waiting?.startTimeMs, work.startTimeMs);
    const merged = (waiting?.merged ?? 0) + 1;
    // A sync without a change of the pod does what waits anyway.
    const scope = work.updateType === "sync" && waiting?.workType === work.workType ? waiting.scope : work.scope;
    worker.undelivered = { ...work, merged, ...defined({ startTimeMs, scope }) };
    if (waiting === undefined) this.#observer.delivers(work, false);
    else this.#observer.merged(worker.undelivered);
    if (!cancelsCurrent || status.cancel === undefined) return;
    this.#observer.cancels(pod);
    status.cancel.abort();
  }

  #startWorker(status: PodSyncStatus, pod: V1Pod) {
    const worker = this.#table.addWorker(pod);
    this.#observer.startsWorker(pod);
    if (isStaticPod(pod)) this.#table.order.wait(status.fullName, pod.metadata.uid);
    const start = () => managePodLoop(this.deps, this.options, this.#table, worker, this.#stop.signal);
    const loop = this.deps.trace.detached(start);
    this.#loops.add(loop);
    void loop.finally(() => this.#loops.delete(loop));
    return worker;
  }
}

function minOf(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (b ?? a) : Math.min(a, b);
}
