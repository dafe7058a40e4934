import type { V1Pod, V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import type { Scope } from "../../trace/scope.js";
import type { Pod, PodStatus } from "../container/runtime.js";
import type { SyncPodType } from "../types/pod-update.js";

/** Changes the status that a pod ends with: an eviction adds its reason. */
export type PodStatusFunc = (status: V1PodStatus) => V1PodStatus;

/** Resolved once, when the pod has no running container and never will again. Mirrors KillPodOptions.CompletedCh. */
export class CompletedCh {
  readonly closed: Promise<void>;
  #resolve: () => void = () => {};
  #isClosed = false;

  constructor() {
    this.closed = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
    this.#resolve();
  }
}

/** Only for updates that end a pod. Mirrors KillPodOptions. */
export interface KillPodOptions {
  readonly completedCh?: CompletedCh;
  /** the kubelet itself ends the pod, to save resources: its files may be removed at once */
  readonly evict?: boolean;
  readonly podStatusFunc?: PodStatusFunc;
  readonly podTerminationGracePeriodSecondsOverride?: number;
}

interface UpdateBase {
  readonly updateType: SyncPodType;
  /** Unix ms at which the change was seen; undefined: not measured */
  readonly startTimeMs?: number;
  readonly mirrorPod?: V1Pod;
  readonly killPodOptions?: KillPodOptions;
}

/**
 * A change for a pod worker. Mirrors UpdatePodOptions.
 *
 * A pod that only the runtime knows (`runningPod` without `pod`) can only be killed.
 */
export type UpdatePodOptions =
  | (UpdateBase & { readonly pod: V1Pod; readonly runningPod?: Pod })
  | (UpdateBase & { readonly pod?: undefined; readonly runningPod: Pod });

/** Which of the three sync functions comes next. Mirrors PodWorkType. */
export type PodWorkType = "sync" | "terminating" | "terminated";

/** How long a worker waits after a failed sync, as a fact of the release. */
export type BackOffPeriod = "podWorkerBackOffPeriod" | "podWorkerTransientBackOffPeriod";

/** An update that a worker has not started yet. Mirrors podWork. */
export interface PodWork {
  readonly workType: PodWorkType;
  readonly updateType: SyncPodType;
  readonly pod: V1Pod;
  /** set for a pod that only the runtime knows */
  readonly runningPod?: Pod;
  readonly mirrorPod?: V1Pod;
  readonly gracePeriodSeconds?: number;
  readonly startTimeMs?: number;
  /** the number of updates that this one stands for, itself included */
  readonly merged: number;
  /** why the worker gets it, if a trace keeps causes */
  readonly scope?: Scope;
}

/** What a worker does with a pod. Mirrors syncPodFnType, syncTerminatingPodFnType and syncTerminatedPodFnType. */
export interface PodSyncer {
  /**
   * Brings the runtime to the pod's spec.
   * @param signal aborts when the pod must end; throw its reason then
   * @returns isTerminal: the pod has run to its end
   */
  syncPod(work: SyncPodWork, signal: AbortSignal): Promise<{ readonly isTerminal: boolean }>;
  /** Stops all containers: after it returns, none runs and none will be started. */
  syncTerminatingPod(work: SyncTerminatingPodWork, signal: AbortSignal): Promise<void>;
  /** Cleans up after the containers: volumes, cgroups, the last status. */
  syncTerminatedPod(work: SyncTerminatedPodWork, signal: AbortSignal): Promise<void>;
}

export interface SyncPodWork {
  readonly updateType: SyncPodType;
  readonly pod: V1Pod;
  readonly mirrorPod?: V1Pod;
  readonly podStatus: PodStatus;
}

export interface SyncTerminatingPodWork {
  readonly pod: V1Pod;
  /** undefined when `runningPod` is given */
  readonly podStatus?: PodStatus;
  readonly runningPod?: Pod;
  /** undefined when the pod ended by itself; never 0 */
  readonly gracePeriodSeconds?: number;
  readonly podStatusFunc?: PodStatusFunc;
}

export interface SyncTerminatedPodWork {
  readonly pod: V1Pod;
  readonly podStatus: PodStatus;
}

/** The text of an error while the node's network is not set up yet: such errors are retried sooner. */
export const NETWORK_NOT_READY_ERROR_MSG = "network is not ready";

/** A pod of the runtime as an API object, with the known fields. Mirrors Pod.ToAPIPod in pkg/kubelet/container/runtime.go. */
export function toApiPod({ podUid, name, namespace, containers }: Pod): V1Pod {
  const spec = { containers: containers.map((container) => ({ name: container.name ?? "" })) };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace, uid: podUid }, spec, status: {} };
}
