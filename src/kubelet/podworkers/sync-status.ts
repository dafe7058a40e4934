import type { CompletedCh, PodStatusFunc } from "./update.js";

/** Where a pod is between its first sync and its removal. Mirrors PodWorkerState. */
export type PodWorkerState = "SyncPod" | "TerminatingPod" | "TerminatedPod" | "TerminatedAndRecreatedPod";

/**
 * The history of a pod in its worker. It only goes forward: syncing, terminating, terminated, finished.
 *
 * Mirrors podSyncStatus in pkg/kubelet/pod_workers.go.
 */
export interface PodSyncStatus {
  /** cancels the running sync function */
  cancel?: AbortController;
  /** a worker runs a sync function, or is about to */
  working: boolean;
  /** `name_namespace` */
  readonly fullName: string;
  /** Unix ms at which the pod was first seen */
  readonly syncedAtMs: number;
  /** Unix ms at which the pod's end was requested; its worker may not know yet */
  terminatingAtMs?: number;
  /** the worker knows: it will start no container any more */
  startedTerminating: boolean;
  /** deleted through the API, or in no source any more */
  deleted: boolean;
  /** seconds; 0: none decided yet */
  gracePeriod: number;
  evicted: boolean;
  /** Unix ms from which no container runs any more */
  terminatedAtMs?: number;
  /** cleaned up; stays until housekeeping forgets the pod */
  finished: boolean;
  /** a pod with the same uid waits to start when this one has ended */
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

/** For a pod that terminated before this kubelet saw it. @param finished it needs no cleaning up either */
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

/** The state in one word, for the trace. */
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
