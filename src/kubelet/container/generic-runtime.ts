import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Backoff } from "../../staging/client-go/backoff.js";
import type { VersionResponse } from "../../staging/cri/messages/runtime.js";
import type { Pod, PodStatus, Runtime } from "./runtime.js";
import type { PodSyncResult } from "./sync-result.js";

/** A Secret of type kubernetes.io/dockerconfigjson or dockercfg, as the API has it. */
export interface PullSecret {
  readonly type?: string;
  /** base64, by key */
  readonly data?: Readonly<Record<string, string>>;
}

/** Which dead containers are kept. Mirrors kubecontainer.GCPolicy. */
export interface GcPolicy {
  /** only containers at least this old are removed, ms */
  readonly minAgeMs: number;
  /** dead ones per container of a pod; -1: any number */
  readonly maxPerPodContainer: number;
  /** dead ones on the node; -1: any number */
  readonly maxContainers: number;
}

/** The kubelet's defaults: pkg/kubelet/apis/config and cmd/kubelet/app/options/container_runtime.go. */
export const DEFAULT_GC_POLICY: GcPolicy = { minAgeMs: 0, maxPerPodContainer: 1, maxContainers: -1 };

/** Mirrors kubecontainer.RuntimeCondition. */
export interface RuntimeCondition {
  /** `RuntimeReady`, `NetworkReady` */
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface CommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The result of a command that ran to its end. Mirrors CommandRunner.RunInContainer: an exit code is no error here. */
export interface CommandResult {
  /** stdout, then stderr, as upstream joins them */
  readonly output: Buffer;
  readonly exitCode: number;
}

/** An image as the node's status lists it. Mirrors kubecontainer.Image. */
export interface RuntimeImage {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly sizeBytes: number;
  readonly pinned: boolean;
}

/**
 * Everything that the kubelet needs from a container runtime.
 *
 * Mirrors kubecontainer.Runtime, StreamingRuntime, ImageService and CommandRunner in pkg/kubelet/container/runtime.go
 * (KubeGenericRuntime in pkg/kubelet/kuberuntime/kuberuntime_manager.go).
 * Unless documented otherwise, every method throws RuntimeCallError when the runtime refuses, and the signal's reason.
 */
export interface KubeGenericRuntime extends Runtime {
  /** the runtime's name, the prefix of container IDs: `containerd` */
  readonly type: string;

  version(signal: AbortSignal): Promise<VersionResponse>;
  status(signal: AbortSignal): Promise<readonly RuntimeCondition[]>;

  /**
   * Brings the runtime to the pod's spec, step by step; a step that cannot proceed now is left for the next sync. Does
   * not throw for a failed container or image: the result contains it.
   */
  syncPod(
    pod: V1Pod,
    podStatus: PodStatus,
    pullSecrets: readonly PullSecret[],
    backOff: Backoff,
    signal: AbortSignal,
  ): Promise<PodSyncResult>;
  /**
   * Stops all containers, in parallel, then the sandboxes.
   * @param pod undefined: only the runtime knows it
   * @param gracePeriodSecondsOverride undefined: the pod's own
   * @throws Error with everything that failed
   */
  killPod(
    pod: V1Pod | undefined,
    runningPod: Pod,
    gracePeriodSecondsOverride: number | undefined,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Removes dead containers, unused sandboxes, and logs of deleted pods.
   * @param allSourcesReady false: an unknown pod may belong to a source that has not reported yet
   * @param evictNonDeletedPods also the containers of pods that failed or were evicted and still exist
   */
  garbageCollect(
    policy: GcPolicy,
    allSourcesReady: boolean,
    evictNonDeletedPods: boolean,
    signal: AbortSignal,
  ): Promise<void>;
  /** Removes a dead container and its logs. */
  deleteContainer(containerId: string, signal: AbortSignal): Promise<void>;

  /** The URL of a stream at the runtime. It is a secret, so it appears in no trace. Mirrors GetExec. */
  getExec(containerId: string, cmd: readonly string[], options: CommandOptions, signal: AbortSignal): Promise<string>;
  getAttach(containerId: string, options: CommandOptions, signal: AbortSignal): Promise<string>;
  /** @throws Error when the pod has no ready sandbox */
  getPortForward(podUid: string, ports: readonly number[], signal: AbortSignal): Promise<string>;
  /** @param timeoutMs 0: none */
  runInContainer(
    containerId: string,
    cmd: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<CommandResult>;
  /** Where the runtime keeps a container's log: GetContainerLogs reads it. */
  getContainerLogPath(containerId: string, signal: AbortSignal): Promise<string>;

  updatePodCidr(podCidr: string, signal: AbortSignal): Promise<void>;

  listImages(signal: AbortSignal): Promise<readonly RuntimeImage[]>;
  /** The IDs of the images of all containers, dead ones included. Differs: upstream reads them from GetPods. */
  listUsedImages(signal: AbortSignal): Promise<readonly string[]>;
  removeImage(image: string, signal: AbortSignal): Promise<void>;
}
