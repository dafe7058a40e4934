/**
 * Pods and containers as the kubelet sees them, independent of the runtime.
 *
 * Mirrors pkg/kubelet/container/runtime.go (Pod, Container, PodStatus, Status, Runtime).
 * Differs: a container's ID is the runtime's own text (`buildContainerId` adds the type where the API wants it); from a
 * list, only ID, name and state are kept, because relisting needs no more; times are Unix ms.
 */

/** Mirrors kubecontainer.State. A ready sandbox is `running`, one that is not ready `exited`. */
export type ContainerState = "created" | "running" | "exited" | "unknown";

/** One container (or sandbox) of a pod as a list shows it. */
export interface Container {
  readonly containerId: string;
  /** the name in the pod's spec; a sandbox has none */
  readonly name?: string;
  readonly state: ContainerState;
}

/** The identity of a pod: what the kubelet needs to read its status. */
export interface PodRef {
  readonly podUid: string;
  readonly name: string;
  readonly namespace: string;
}

/** A group of containers, as the runtime lists them, dead ones included. */
export interface Pod extends PodRef {
  /** Unix ms at which the sandbox that was listed last was created; 0 without a sandbox */
  readonly createdAtMs: number;
  readonly containers: readonly Container[];
  /** in the order of the runtime's list, not sorted by age */
  readonly sandboxes: readonly Container[];
}

/** A container's state in full. Mirrors kubecontainer.Status. */
export interface ContainerStatus {
  readonly containerId: string;
  readonly name: string;
  readonly state: ContainerState;
  /** Unix ms */
  readonly createdAtMs: number;
  /** Unix ms; only if the container has run */
  readonly startedAtMs?: number;
  /** Unix ms; only if the container has exited */
  readonly finishedAtMs?: number;
  /** 0 unless it has exited */
  readonly exitCode: number;
  readonly image: string;
  readonly imageId: string;
  /** of the container's spec, from its annotation; 0 when it has none */
  readonly hash: number;
  readonly restartCount: number;
  readonly reason?: string;
  readonly message?: string;
}

/** A sandbox's full state: the part of the CRI's PodSandboxStatus that the kubelet reads. */
export interface SandboxStatus {
  readonly sandboxId: string;
  readonly state: "ready" | "not-ready";
  /** Unix ms */
  readonly createdAtMs: number;
  readonly attempt: number;
  /** the first is the pod's own; empty in the host's network */
  readonly ips: readonly string[];
  readonly usesHostNetwork: boolean;
  /** the runtime reports a network namespace but no address */
  readonly lacksIp?: boolean;
}

/** Everything that the runtime knows about one pod. Mirrors kubecontainer.PodStatus. */
export interface PodStatus extends PodRef {
  readonly ips: readonly string[];
  readonly containerStatuses: readonly ContainerStatus[];
  /** newest first */
  readonly sandboxStatuses: readonly SandboxStatus[];
  /** Unix ms at which the runtime took this status; only from runtimes with container events */
  readonly timestampMs?: number;
}

/** The part of kubecontainer.Runtime that relisting needs. */
export interface Runtime {
  /**
   * All pods with their containers and sandboxes.
   * @param all include dead ones
   * @throws the runtime's error, unchanged
   */
  getPods(all: boolean, signal: AbortSignal): Promise<readonly Pod[]>;
  /**
   * Reads one pod's full status now.
   * @throws the runtime's error, unchanged
   */
  getPodStatus(pod: PodRef, signal: AbortSignal): Promise<PodStatus>;
  /**
   * Reads one pod's full status, by the IDs of containers and sandboxes in a list that was just read. It saves the two
   * lists that `getPodStatus` starts with, and the answer is as old as the list.
   */
  getListedPodStatus?(pod: Pod, signal: AbortSignal): Promise<PodStatus>;
}

/** As the API and the logs write it: `containerd://4f0c…`. Mirrors ContainerID.String. */
export function buildContainerId(runtimeName: string, containerId: string): string {
  return `${runtimeName}://${containerId}`;
}

/** `name_namespace`. Mirrors BuildPodFullName. */
export function buildPodFullName({ name, namespace }: PodRef): string {
  return `${name}_${namespace}`;
}

/** The same containers and sandboxes in the same states, in the same order. */
export function samePodStates(before: Pod, after: Pod): boolean {
  return sameStates(before.containers, after.containers) && sameStates(before.sandboxes, after.sandboxes);
}

function sameStates(before: readonly Container[], after: readonly Container[]): boolean {
  const isSame = ({ containerId, state }: Container, i: number) =>
    containerId === after[i]?.containerId && state === after[i]?.state;
  return before.length === after.length && before.every(isSame);
}
