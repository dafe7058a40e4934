import type { V1Pod, V1PodStatus } from "../../apimachinery/api/pod.js";
import type { Pod, PodStatus } from "../container/runtime.js";
import type { SyncPodType } from "../types/pod-update.js";

/** Changes the status that a pod ends with: an eviction writes its reason with it. */
export type PodStatusFunc = (status: V1PodStatus) => V1PodStatus;

/** Closed once, when a pod has no running container left and never will again. Mirrors KillPodOptions.CompletedCh. */
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
  /** the kubelet itself ends the pod, to save resources: its content may go at once */
  readonly evict?: boolean;
  readonly podStatusFunc?: PodStatusFunc;
  readonly podTerminationGracePeriodSecondsOverride?: number;
}

interface UpdateBase {
  readonly updateType: SyncPodType;
  /** Unix ms at which the change was seen; undefined: nobody measures it */
  readonly startTimeMs?: number;
  readonly mirrorPod?: V1Pod;
  readonly killPodOptions?: KillPodOptions;
}

/**
 * A change that a pod worker is told of. Mirrors UpdatePodOptions.
 *
 * A pod that only the runtime knows (`runningPod` without `pod`) can only be killed.
 */
export type UpdatePodOptions =
  | (UpdateBase & { readonly pod: V1Pod; readonly runningPod?: Pod })
  | (UpdateBase & { readonly pod?: undefined; readonly runningPod: Pod });

/** Which of the three sync functions comes next. Mirrors PodWorkType. */
export type PodWorkType = "sync" | "terminating" | "terminated";

/** An update that a worker has not begun yet. Mirrors podWork. */
export interface PodWork {
  readonly workType: PodWorkType;
  readonly updateType: SyncPodType;
  readonly pod: V1Pod;
  /** only of a pod that is known to the runtime alone */
  readonly runningPod?: Pod;
  readonly mirrorPod?: V1Pod;
  readonly gracePeriodSeconds?: number;
  readonly startTimeMs?: number;
  /** how many updates this one stands for: more than 1 when others came while the worker was busy */
  readonly merged: number;
}

/** What a worker does with a pod. Mirrors syncPodFnType, syncTerminatingPodFnType and syncTerminatedPodFnType. */
export interface PodSyncer {
  /**
   * Makes the runtime hold what the pod's spec asks for.
   * @param signal aborts when the pod shall end; throw its reason then
   * @returns isTerminal: the pod has run to its end
   */
  syncPod(work: SyncPodWork, signal: AbortSignal): Promise<{ readonly isTerminal: boolean }>;
  /** Stops all containers: when it returns, none runs and none will be started. */
  syncTerminatingPod(work: SyncTerminatingPodWork, signal: AbortSignal): Promise<void>;
  /** Cleans up what does not run: volumes, cgroups, the last status. */
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

/** What the text of an error says when the node's network has not been set up yet: such errors are retried sooner. */
export const NETWORK_NOT_READY_ERROR_MSG = "network is not ready";

/** A pod of the runtime as an API object, with as much as is known. Mirrors Pod.ToAPIPod in pkg/kubelet/container/runtime.go. */
export function toApiPod({ podUid, name, namespace, containers }: Pod): V1Pod {
  const spec = { containers: containers.map((container) => ({ name: container.name ?? "" })) };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace, uid: podUid }, spec, status: {} };
}
