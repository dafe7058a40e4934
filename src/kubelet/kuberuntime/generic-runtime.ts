import type { V1Pod } from "../../apimachinery/api/pod.js";
import type { Backoff } from "../../client-go/backoff.js";
import type { ImageFsInfoResponse } from "../../cri/messages/image.js";
import type { VersionResponse } from "../../cri/messages/runtime.js";
import type { Pod, PodStatus, Runtime } from "../container/runtime.js";
import type { PodSyncResult } from "../container/sync-result.js";

/** A Secret of type kubernetes.io/dockerconfigjson or dockercfg, as the API has it. */
export interface PullSecret {
  readonly type?: string;
  /** base64, by key */
  readonly data?: Readonly<Record<string, string>>;
}

/** Which dead containers may stay. Mirrors kubecontainer.GCPolicy. */
export interface GcPolicy {
  /** only what was created at least so long ago goes, ms */
  readonly minAgeMs: number;
  /** dead ones of one container of a pod; -1: any number */
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

/** What a command that ran to its end has said. Mirrors CommandRunner.RunInContainer: an exit code is no error here. */
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
 * Everything that the kubelet asks of a container runtime.
 *
 * Mirrors kubecontainer.Runtime, StreamingRuntime, ImageService and CommandRunner in pkg/kubelet/container/runtime.go
 * (KubeGenericRuntime in pkg/kubelet/kuberuntime/kuberuntime_manager.go).
 * Every method throws RuntimeCallError for what the runtime refused, unless it says otherwise, and the signal's reason.
 */
export interface KubeGenericRuntime extends Runtime {
  /** the runtime's name, as it is in front of container IDs: `containerd` */
  readonly type: string;

  version(signal: AbortSignal): Promise<VersionResponse>;
  status(signal: AbortSignal): Promise<readonly RuntimeCondition[]>;

  /**
   * Makes the runtime hold what the pod's spec asks for, one step after the other; what cannot go on now is left for the
   * next sync. Does not throw for what a container or an image did: the result says it.
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
   * Removes dead containers, sandboxes that nobody uses, and logs of pods that are gone.
   * @param allSourcesReady false: pods that are not known may only not be known yet
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

  /** The URL of a stream at the runtime: whoever has it may use it, so it is no fact for a trace. Mirrors GetExec. */
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
  /** Where the runtime says that a container's log is: what GetContainerLogs reads. */
  getContainerLogPath(containerId: string, signal: AbortSignal): Promise<string>;

  updatePodCidr(podCidr: string, signal: AbortSignal): Promise<void>;

  listImages(signal: AbortSignal): Promise<readonly RuntimeImage[]>;
  removeImage(image: string, signal: AbortSignal): Promise<void>;
  imageFsInfo(signal: AbortSignal): Promise<ImageFsInfoResponse>;
}
