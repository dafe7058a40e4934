/**
 * What the kubelet knows of pods and containers, whatever runtime holds them.
 *
 * Mirrors pkg/kubelet/container/runtime.go (Pod, Container, PodStatus, Status, Runtime).
 * Differs: a container's ID is the runtime's own text (`buildContainerId` adds the type where the API wants it); what the
 * lists carry beyond ID, name and state is not kept, as relisting needs no more; times are Unix ms.
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

/** Which pod: what the kubelet needs to ask for its status. */
export interface PodRef {
  readonly podUid: string;
  readonly name: string;
  readonly namespace: string;
}

/** A group of containers, as the runtime lists them: dead ones too. */
export interface Pod extends PodRef {
  /** Unix ms of the sandbox that was listed last; 0 when no sandbox was */
  readonly createdAtMs: number;
  readonly containers: readonly Container[];
  /** newest is not first: in the order of the runtime's list */
  readonly sandboxes: readonly Container[];
}

/** A container's state in full. Mirrors kubecontainer.Status. */
export interface ContainerStatus {
  readonly containerId: string;
  readonly name: string;
  readonly state: ContainerState;
  /** Unix ms */
  readonly createdAtMs: number;
  /** Unix ms; only of a container that has run */
  readonly startedAtMs?: number;
  /** Unix ms; only of a container that has exited */
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

/** A sandbox's state in full: what the kubelet reads of the CRI's PodSandboxStatus. */
export interface SandboxStatus {
  readonly sandboxId: string;
  readonly state: "ready" | "not-ready";
  /** Unix ms */
  readonly createdAtMs: number;
  readonly attempt: number;
  /** the first is the pod's own; none in the host's network */
  readonly ips: readonly string[];
  readonly usesHostNetwork: boolean;
  /** the runtime says what network it is in, but no address */
  readonly lacksIp?: boolean;
}

/** Everything that the runtime knows of one pod. Mirrors kubecontainer.PodStatus. */
export interface PodStatus extends PodRef {
  readonly ips: readonly string[];
  readonly containerStatuses: readonly ContainerStatus[];
  /** newest first */
  readonly sandboxStatuses: readonly SandboxStatus[];
  /** Unix ms at which the runtime itself says this held; only runtimes with container events say so */
  readonly timestampMs?: number;
}

/** The part of kubecontainer.Runtime that relisting needs. */
export interface Runtime {
  /**
   * All pods with their containers and sandboxes.
   * @param all dead ones too
   * @throws what the runtime answered, unchanged
   */
  getPods(all: boolean, signal: AbortSignal): Promise<readonly Pod[]>;
  /**
   * One pod in full, asked for now.
   * @throws what the runtime answered, unchanged
   */
  getPodStatus(pod: PodRef, signal: AbortSignal): Promise<PodStatus>;
  /**
   * One pod in full, of exactly the containers and sandboxes that a list has just shown. It saves the two lists that
   * `getPodStatus` starts with, and what it answers is as old as the list was.
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

/** The first with this ID, as upstream searches. Mirrors FindContainerByID. */
export function findContainer(containers: readonly Container[], containerId: string): Container | undefined {
  for (const container of containers) if (container.containerId === containerId) return container;
  return undefined;
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
