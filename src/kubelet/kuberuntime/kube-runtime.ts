import type { ContainerEventResponse } from "../../cri/messages/container-calls.js";
import { ContainerState, PodSandboxState } from "../../cri/messages/enums.js";
import type { RpcFailure, RpcResult } from "../../cri/status.js";
import type { ContainerStatus, Pod, PodRef, PodStatus, Runtime, SandboxStatus } from "../container/runtime.js";
import { toKubeContainerStatus, toMs, toSandboxStatus } from "./convert.js";
import { POD_UID_LABEL } from "./labels.js";
import { groupIntoPods, PodGrouper } from "./pods.js";
import type { PodReader, ReportedContainer } from "./runtime-service.js";
import { localFiles, type TailReader, terminationMessage } from "./termination-message.js";

/** What a runtime answered instead of a response; the message is as Go prints it. */
export class RuntimeCallError extends Error {
  override readonly name = "RuntimeCallError";
  constructor(readonly failure: RpcFailure) {
    super(failure.text);
  }
}

export interface KubeRuntimeDeps {
  readonly service: PodReader;
  /** where termination messages and logs are read; the files of this machine */
  readonly files?: TailReader;
}

/**
 * The kubelet's view of a container runtime: pods, where the CRI has sandboxes and containers.
 *
 * Mirrors pkg/kubelet/kuberuntime/kuberuntime_manager.go (GetPods, GetPodStatus, GeneratePodStatus).
 * Differs: what does not depend on each other is asked for at the same time; a sandbox that goes away between the list and
 * its status is left out, where upstream keeps a hole in its list.
 */
export class KubeRuntime implements Runtime {
  readonly #files: TailReader;
  readonly #grouper = new PodGrouper();

  constructor(readonly deps: KubeRuntimeDeps) {
    this.#files = deps.files ?? localFiles;
  }

  /** @throws RuntimeCallError */
  async getPods(all: boolean, signal: AbortSignal): Promise<readonly Pod[]> {
    const { service } = this.deps;
    const [sandboxes, containers] = await Promise.all([
      service.listPodSandbox(all ? {} : { state: { state: PodSandboxState.SANDBOX_READY } }, signal),
      service.listContainers(all ? {} : { state: { state: ContainerState.CONTAINER_RUNNING } }, signal),
    ]);
    // Lists of all pods come every second, and mostly have the same pods in them.
    return all
      ? this.#grouper.group(responseOf(sandboxes), responseOf(containers))
      : groupIntoPods(responseOf(sandboxes), responseOf(containers));
  }

  /** @throws RuntimeCallError */
  async getPodStatus(pod: PodRef, signal: AbortSignal): Promise<PodStatus> {
    const { service } = this.deps;
    const labelSelector = { [POD_UID_LABEL]: pod.podUid };
    const [sandboxes, containers] = await Promise.all([
      service.listPodSandbox({ labelSelector }, signal),
      service.listContainers({ labelSelector }, signal),
    ]);
    const newestFirst = [...responseOf(sandboxes)].sort((a, b) => toMs(b.createdAt) - toMs(a.createdAt));
    const sandboxIds = newestFirst.map(({ id }) => id);
    const containerIds = responseOf(containers).map(({ id }) => id);
    return this.#podStatusOf(pod, sandboxIds, containerIds, signal);
  }

  /** @throws RuntimeCallError */
  async getListedPodStatus(pod: Pod, signal: AbortSignal): Promise<PodStatus> {
    const ids = (containers: Pod["containers"]) => containers.map(({ containerId }) => containerId);
    return this.#podStatusOf(pod, ids(pod.sandboxes), ids(pod.containers), signal);
  }

  /**
   * The status that comes along with an event of the runtime.
   * @returns undefined: the event does not say whose it is
   */
  async generatePodStatus(event: ContainerEventResponse): Promise<PodStatus | undefined> {
    const sandbox = event.podSandboxStatus;
    if (sandbox?.metadata === undefined) return undefined;
    const { uid: podUid, name, namespace } = sandbox.metadata;
    const converted = toSandboxStatus(sandbox);
    const statuses = await Promise.all(event.containersStatuses.map((status) => this.#convert(status)));
    return {
      podUid,
      name,
      namespace,
      ips: converted.ips,
      sandboxStatuses: [converted],
      containerStatuses: newestContainerFirst(statuses),
    };
  }

  async #podStatusOf(
    { podUid, name, namespace }: PodRef,
    sandboxIds: readonly string[],
    containerIds: readonly string[],
    signal: AbortSignal,
  ): Promise<PodStatus> {
    const [sandboxes, containers] = await Promise.all([
      Promise.all(sandboxIds.map((id) => this.#sandboxStatus(id, signal))),
      Promise.all(containerIds.map((id) => this.#containerStatus(id, signal))),
    ]);
    const sandboxStatuses = sandboxes
      .filter((status) => status !== undefined)
      .sort((a, b) => b.createdAtMs - a.createdAtMs);
    const newest = sandboxStatuses[0];
    return {
      podUid,
      name,
      namespace,
      ips: newest?.state === "ready" ? newest.ips : [],
      sandboxStatuses,
      containerStatuses: newestContainerFirst(containers.filter((status) => status !== undefined)),
    };
  }

  /** @returns undefined: it has been removed since it was listed, which is nothing unusual */
  async #sandboxStatus(podSandboxId: string, signal: AbortSignal): Promise<SandboxStatus | undefined> {
    const result = await this.deps.service.podSandboxStatus(podSandboxId, signal);
    if (result.outcome === "not-found") return undefined;
    const { status } = responseOf(result);
    if (status === undefined) throw new Error("pod sandbox status is nil");
    return toSandboxStatus(status);
  }

  /** @returns undefined: it has been removed since it was listed */
  async #containerStatus(containerId: string, signal: AbortSignal): Promise<ContainerStatus | undefined> {
    const result = await this.deps.service.containerStatus(containerId, signal);
    if (result.outcome === "not-found") return undefined;
    const { status } = responseOf(result);
    if (status === undefined) throw new Error("container status is nil");
    return this.#convert(status);
  }

  async #convert(status: ReportedContainer): Promise<ContainerStatus> {
    return toKubeContainerStatus(status, await terminationMessage(status, this.#files));
  }
}

/** Mirrors containerStatusByCreated. Made at the very same time, the one that was started more often is the newer one. */
function newestContainerFirst(statuses: readonly ContainerStatus[]): ContainerStatus[] {
  return [...statuses].sort((a, b) => b.createdAtMs - a.createdAtMs || b.restartCount - a.restartCount);
}

function responseOf<T>(result: RpcResult<T>): T {
  if (result.outcome === "ok") return result.value;
  throw new RuntimeCallError(result);
}
