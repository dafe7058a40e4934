import type { CompletedCh, PodStatusFunc } from "./update.js";

/** Where a pod is between its first sync and its being forgotten. Mirrors PodWorkerState. */
export type PodWorkerState = "SyncPod" | "TerminatingPod" | "TerminatedPod" | "TerminatedAndRecreatedPod";

/**
 * What a pod worker has gone through. It only goes forward: syncing, terminating, terminated, finished.
 *
 * Mirrors podSyncStatus in pkg/kubelet/pod_workers.go.
 */
export interface PodSyncStatus {
  /** cancels the sync function that runs */
  cancel?: AbortController;
  /** a worker runs a sync function, or is about to */
  working: boolean;
  /** `name_namespace` */
  readonly fullName: string;
  /** Unix ms at which the pod was seen first */
  readonly syncedAtMs: number;
  /** Unix ms at which somebody wanted the pod to end; its worker may not know yet */
  terminatingAtMs?: number;
  /** the worker knows: no container will be started any more */
  startedTerminating: boolean;
  /** deleted through the API, or in no source any more */
  deleted: boolean;
  /** seconds; 0: none decided yet */
  gracePeriod: number;
  evicted: boolean;
  /** Unix ms at which no container ran any more */
  terminatedAtMs?: number;
  /** cleaned up; stays until housekeeping forgets the pod */
  finished: boolean;
  /** a pod with the same uid wants to start when this one has ended */
  restartRequested: boolean;
  notifyPostTerminating: CompletedCh[];
  statusPostTerminating: PodStatusFunc[];
}

export function newSyncStatus(fullName: string, nowMs: number): PodSyncStatus {
  return {
    working: false,
    fullName,
    syncedAtMs: nowMs,
    startedTerminating: false,
    deleted: false,
    gracePeriod: 0,
    evicted: false,
    finished: false,
    restartRequested: false,
    notifyPostTerminating: [],
    statusPostTerminating: [],
  };
}

/** Of a pod that was over before this kubelet saw it. @param finished there is nothing to do for it, not even to clean up */
export function newOverStatus(fullName: string, nowMs: number, finished: boolean): PodSyncStatus {
  return {
    ...newSyncStatus(fullName, nowMs),
    terminatingAtMs: nowMs,
    terminatedAtMs: nowMs,
    startedTerminating: true,
    finished,
  };
}

export function isTerminationRequested({ terminatingAtMs }: PodSyncStatus): boolean {
  return terminatingAtMs !== undefined;
}

export function isTerminated({ terminatedAtMs }: PodSyncStatus): boolean {
  return terminatedAtMs !== undefined;
}

/** In one word, for people. */
export function phaseOf(status: PodSyncStatus): "syncing" | "terminating" | "terminated" | "finished" {
  if (status.finished) return "finished";
  if (isTerminated(status)) return "terminated";
  return isTerminationRequested(status) ? "terminating" : "syncing";
}

/** Mirrors the switch of SyncKnownPods. */
export function workerStateOf(status: PodSyncStatus): PodWorkerState {
  if (isTerminated(status)) return status.restartRequested ? "TerminatedAndRecreatedPod" : "TerminatedPod";
  return isTerminationRequested(status) ? "TerminatingPod" : "SyncPod";
}
