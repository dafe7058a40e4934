import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { Backoff } from "../../staging/client-go/backoff.js";
import { POD_UID_LABEL } from "../../staging/cri/labels.js";
import { PodSandboxState } from "../../staging/cri/messages/enums.js";
import type { VersionResponse } from "../../staging/cri/messages/runtime.js";
import { defined } from "../../util/defined.js";
import type {
  CommandOptions,
  CommandResult,
  GcPolicy,
  KubeGenericRuntime,
  PullSecret,
  RuntimeCondition,
  RuntimeImage,
} from "../container/generic-runtime.js";
import type { Pod, PodRef, PodStatus } from "../container/runtime.js";
import type { PodSyncResult } from "../container/sync-result.js";
import { IMAGE_BACK_OFF, ImageManager } from "../images/image-manager.js";
import { ParallelImagePuller, SerialImagePuller } from "../images/puller.js";
import { HandlerRunner } from "../lifecycle/handlers.js";
import { garbageCollect } from "./container-gc.js";
import { killPodWithSyncResult } from "./kill-container.js";
import { KubeRuntime, responseOf } from "./kube-runtime.js";
import type { KubeRuntimeManagerDeps, KubeRuntimeManagerOptions, ManagerContext } from "./manager-context.js";
import { RemotePodReader } from "./remote-pod-reader.js";
import { removeContainer } from "./remove-container.js";
import { RuntimeObserver } from "./report.js";
import { syncPod } from "./sync-pod.js";

/** pkg/kubelet/kuberuntime/kuberuntime_manager.go (kubeRuntimeAPIVersion) */
const KUBE_RUNTIME_API_VERSION = "0.1.0";

/**
 * Runs pods in a container runtime that speaks the CRI.
 *
 * Mirrors kubeGenericRuntimeManager in pkg/kubelet/kuberuntime/kuberuntime_manager.go.
 */
export class KubeGenericRuntimeManager implements KubeGenericRuntime {
  readonly type: string;
  readonly #context: ManagerContext;
  readonly #reader: KubeRuntime;

  constructor(deps: KubeRuntimeManagerDeps, options: KubeRuntimeManagerOptions) {
    const { hookHttpClient, imageService, recorder, clock } = deps;
    this.type = options.runtimeName;
    this.#reader = new KubeRuntime({ service: new RemotePodReader(deps.runtimeService) });
    const isSerial = options.serializeImagePulls ?? true;
    const puller = isSerial ? new SerialImagePuller(imageService, clock) : new ParallelImagePuller(imageService, clock);
    const backOff = new Backoff(clock, IMAGE_BACK_OFF);
    this.#context = {
      ...deps,
      options,
      observer: new RuntimeObserver(deps.trace),
      images: new ImageManager({ imageService, puller, recorder, backOff, clock }, options.kubeVersion),
      runner: new HandlerRunner(
        {
          runInContainer: (containerId, cmd, timeoutMs, signal) => this.#execSync(containerId, cmd, timeoutMs, signal),
          getPodStatus: (pod, signal) => this.getPodStatus(pod, signal),
          clock,
          ...defined({ httpClient: hookHttpClient }),
        },
        options,
      ),
    };
  }

  getPods(all: boolean, signal: AbortSignal): Promise<readonly Pod[]> {
    return this.#reader.getPods(all, signal);
  }

  getPodStatus(pod: PodRef, signal: AbortSignal): Promise<PodStatus> {
    return this.#reader.getPodStatus(pod, signal);
  }

  getListedPodStatus(pod: Pod, signal: AbortSignal): Promise<PodStatus> {
    return this.#reader.getListedPodStatus(pod, signal);
  }

  async version(signal: AbortSignal): Promise<VersionResponse> {
    return responseOf(await this.#context.runtimeService.version(KUBE_RUNTIME_API_VERSION, signal));
  }

  async status(signal: AbortSignal): Promise<readonly RuntimeCondition[]> {
    const { status } = responseOf(await this.#context.runtimeService.status(false, signal));
    return status?.conditions ?? [];
  }

  syncPod(
    pod: V1Pod,
    podStatus: PodStatus,
    pullSecrets: readonly PullSecret[],
    backOff: Backoff,
    signal: AbortSignal,
  ): Promise<PodSyncResult> {
    return syncPod(this.#context, { pod, podStatus, pullSecrets, backOff }, signal);
  }

  async killPod(
    pod: V1Pod | undefined,
    runningPod: Pod,
    gracePeriodSecondsOverride: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { error } = await killPodWithSyncResult(this.#context, pod, runningPod, gracePeriodSecondsOverride, signal);
    if (error !== undefined) throw new Error(error);
  }

  async garbageCollect(
    policy: GcPolicy,
    allSourcesReady: boolean,
    evictNonDeletedPods: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const options = { policy, allSourcesReady, evictNonDeletedPods };
    const problems = await garbageCollect(this.#context, options, signal);
    if (problems.length > 0) throw new Error(problems.join("; "));
  }

  async deleteContainer(containerId: string, signal: AbortSignal): Promise<void> {
    const problem = await removeContainer(this.#context, containerId, signal);
    if (problem !== undefined) throw new Error(problem);
  }

  async getExec(
    containerId: string,
    cmd: readonly string[],
    options: CommandOptions,
    signal: AbortSignal,
  ): Promise<string> {
    return responseOf(await this.#context.runtimeService.exec({ containerId, cmd, ...options }, signal));
  }

  async getAttach(containerId: string, options: CommandOptions, signal: AbortSignal): Promise<string> {
    return responseOf(await this.#context.runtimeService.attach({ containerId, ...options }, signal));
  }

  /** Mirrors GetPortForward in pkg/kubelet/kuberuntime/kuberuntime_sandbox.go. */
  async getPortForward(podUid: string, ports: readonly number[], signal: AbortSignal): Promise<string> {
    const { runtimeService } = this.#context;
    const filter = {
      state: { state: PodSandboxState.SANDBOX_READY },
      labelSelector: { [POD_UID_LABEL]: podUid },
    };
    const sandboxes = [...responseOf(await runtimeService.listPodSandbox(filter, signal))];
    const [newest] = sandboxes.sort((a, b) => Number(b.createdAt - a.createdAt));
    if (newest === undefined) throw new Error("failed to find sandboxID for pod");
    return responseOf(await runtimeService.portForward({ podSandboxId: newest.id, port: ports }, signal));
  }

  async runInContainer(
    containerId: string,
    cmd: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<CommandResult> {
    const { output, exitCode } = await this.#execSync(containerId, cmd, timeoutMs, signal);
    return { output, exitCode };
  }

  async getContainerLogPath(containerId: string, signal: AbortSignal): Promise<string> {
    const { status } = responseOf(await this.#context.runtimeService.containerStatus(containerId, false, signal));
    return status?.logPath ?? "";
  }

  async updatePodCidr(podCidr: string, signal: AbortSignal): Promise<void> {
    responseOf(await this.#context.runtimeService.updateRuntimeConfig({ networkConfig: { podCidr } }, signal));
  }

  async listImages(signal: AbortSignal): Promise<readonly RuntimeImage[]> {
    const images = responseOf(await this.#context.imageService.listImages(undefined, signal));
    return images.map(({ id, repoTags, repoDigests, size, pinned }) => ({
      id,
      repoTags,
      repoDigests,
      sizeBytes: Number(size),
      pinned,
    }));
  }

  async listUsedImages(signal: AbortSignal): Promise<readonly string[]> {
    const containers = responseOf(await this.#context.runtimeService.listContainers(undefined, signal));
    return containers.map(({ imageRef }) => imageRef);
  }

  async removeImage(image: string, signal: AbortSignal): Promise<void> {
    responseOf(await this.#context.imageService.removeImage({ image }, signal));
  }

  async #execSync(containerId: string, cmd: readonly string[], timeoutMs: number, signal: AbortSignal) {
    const result = await this.#context.runtimeService.execSync(containerId, cmd, timeoutMs, signal);
    const { stdout, stderr, exitCode } = responseOf(result);
    return { output: Buffer.concat([stdout, stderr]), exitCode, stderr: stderr.toString() };
  }
}
