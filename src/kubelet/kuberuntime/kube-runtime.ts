import type { RpcFailure, RpcResult } from "../../staging/cri/grpc/status.js";
import { POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from "../../staging/cri/labels.js";
import type { ContainerEventResponse } from "../../staging/cri/messages/container-calls.js";
import { ContainerState, PodSandboxState } from "../../staging/cri/messages/enums.js";
import { inParallel } from "../../util/async/concurrency.js";
import type {
  Container,
  ContainerStatus,
  Pod,
  PodRef,
  PodStatus,
  Runtime,
  SandboxStatus,
} from "../container/runtime.js";
import {
  sandboxToContainerState,
  toKubeContainerState,
  toKubeContainerStatus,
  toMs,
  toSandboxStatus,
} from "./convert.js";
import type { RuntimeObserver } from "./report.js";
import type { ListedContainer, ListedSandbox, PodReader, ReportedContainer } from "./runtime-service.js";
import { localFiles, type TailReader, terminationMessage } from "./termination-message.js";

/** The runtime's error; the message is as Go prints it. */
export class RuntimeCallError extends Error {
  override readonly name = "RuntimeCallError";
  constructor(readonly failure: RpcFailure) {
    super(failure.text);
  }
}

export interface KubeRuntimeDeps {
  readonly service: PodReader;
  /** reports what the lists of all pods merge into; default: not reported */
  readonly observer?: Pick<RuntimeObserver, "merged">;
  /** reads termination messages and logs; default: this machine's files */
  readonly files?: TailReader;
}

/**
 * The kubelet's view of a container runtime: pods instead of the CRI's sandboxes and containers.
 *
 * Mirrors pkg/kubelet/kuberuntime/kuberuntime_manager.go (GetPods, GetPodStatus, GeneratePodStatus).
 * Differs: independent calls run in parallel, a bounded number at a time; a sandbox that vanishes between the list and its status is left out,
 * where upstream keeps a hole in its list.
 */
export class KubeRuntime implements Runtime {
  readonly #files: TailReader;

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
    const pods = groupIntoPods(responseOf(sandboxes), responseOf(containers));
    if (all) this.deps.observer?.merged(pods);
    return pods;
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
  getListedPodStatus(pod: Pod, signal: AbortSignal): Promise<PodStatus> {
    return this.#podStatusOf(pod, pod.sandboxes.map(idOf), pod.containers.map(idOf), signal);
  }

  /**
   * The status in an event of the runtime.
   * @returns undefined: the event does not name its pod
   */
  async generatePodStatus(event: ContainerEventResponse): Promise<PodStatus | undefined> {
    const sandbox = event.podSandboxStatus;
    if (sandbox?.metadata === undefined) return undefined;
    const { uid: podUid, name, namespace } = sandbox.metadata;
    const converted = toSandboxStatus(sandbox);
    const statuses = await Promise.all(event.containersStatuses.map(this.#convert));
    return {
      podUid,
      name,
      namespace,
      ips: converted.ips,
      sandboxStatuses: [converted],
      containerStatuses: statuses.sort(newestContainerFirst),
    };
  }

  async #podStatusOf(
    { podUid, name, namespace }: PodRef,
    sandboxIds: readonly string[],
    containerIds: readonly string[],
    signal: AbortSignal,
  ): Promise<PodStatus> {
    const { service } = this.deps;
    const [sandboxStatuses, containerStatuses] = await Promise.all([
      statusesOf(sandboxIds, (id) => service.podSandboxStatus(id, signal).then(sandboxStatusIn)),
      statusesOf(containerIds, (id) => service.containerStatus(id, signal).then(this.#containerStatusIn)),
    ]);
    const newest = sandboxStatuses.sort(newestSandboxFirst)[0];
    return {
      podUid,
      name,
      namespace,
      ips: newest?.state === "ready" ? newest.ips : [],
      sandboxStatuses,
      containerStatuses: containerStatuses.sort(newestContainerFirst),
    };
  }

  /** @returns undefined: it was removed after it was listed */
  readonly #containerStatusIn = (result: ContainerStatusResult) => {
    if (result.outcome === "not-found") return undefined;
    const { status } = responseOf(result);
    if (status === undefined) throw new Error("container status is nil");
    return this.#convert(status);
  };

  /** Only exited containers have a termination message, which is slow to read; the others need not wait. */
  readonly #convert = (status: ReportedContainer): ContainerStatus | Promise<ContainerStatus> =>
    status.state === ContainerState.CONTAINER_EXITED
      ? terminationMessage(status, this.#files).then((message) => toKubeContainerStatus(status, message))
      : toKubeContainerStatus(status, "");
}

/** Of one pod. A runtime can list any number of containers, and each call is a stream of the one connection. */
const CALLS_IN_FLIGHT = 16;

/** The statuses in the order of the IDs, without those that are gone. Rejects with the first failure, and calls no more then. */
async function statusesOf<T>(ids: readonly string[], statusOf: (id: string) => Promise<T | undefined>): Promise<T[]> {
  const statuses: (T | undefined)[] = [];
  let isFailed = false;
  await inParallel([...ids.entries()], CALLS_IN_FLIGHT, async ([at, id]) => {
    if (isFailed) return;
    statuses[at] = await statusOf(id).catch((error) => {
      isFailed = true;
      throw error;
    });
  });
  return statuses.filter((status) => status !== undefined);
}

type SandboxStatusResult = Awaited<ReturnType<PodReader["podSandboxStatus"]>>;
type ContainerStatusResult = Awaited<ReturnType<PodReader["containerStatus"]>>;

/** @returns undefined: it was removed after it was listed, which is normal */
function sandboxStatusIn(result: SandboxStatusResult): SandboxStatus | undefined {
  if (result.outcome === "not-found") return undefined;
  const { status } = responseOf(result);
  if (status === undefined) throw new Error("pod sandbox status is nil");
  return toSandboxStatus(status);
}

function idOf({ containerId }: Container): string {
  return containerId;
}

function newestSandboxFirst(a: SandboxStatus, b: SandboxStatus): number {
  return b.createdAtMs - a.createdAtMs;
}

/** Mirrors containerStatusByCreated. If both were created at the same time, the one with more restarts is newer. */
function newestContainerFirst(a: ContainerStatus, b: ContainerStatus): number {
  return b.createdAtMs - a.createdAtMs || b.restartCount - a.restartCount;
}

/** What the runtime has answered. @throws RuntimeCallError */
export function responseOf<T>(result: RpcResult<T>): T {
  if (result.outcome === "ok") return result.value;
  throw new RuntimeCallError(result);
}

interface GrowingPod {
  readonly podUid: string;
  readonly name: string;
  readonly namespace: string;
  createdAtMs: number;
  readonly containers: Container[];
  readonly sandboxes: Container[];
}

/**
 * Groups the containers and sandboxes of both lists by pod. Pure.
 *
 * A sandbox names its pod in its metadata, a container in its labels. A container without these labels, which a kubelet did
 * not create, belongs to a pod without a uid. Entries without metadata and containers without an image are left out. The
 * newest pod comes first.
 *
 * Mirrors GetPods in pkg/kubelet/kuberuntime/kuberuntime_manager.go.
 */
export function groupIntoPods(sandboxes: readonly ListedSandbox[], containers: readonly ListedContainer[]): Pod[] {
  const pods = new Map<string, GrowingPod>();
  for (const { id, metadata, state, createdAt } of sandboxes) {
    if (metadata === undefined) continue;
    const pod = podOf(pods, metadata.uid, metadata.name, metadata.namespace);
    if (id === "") continue;
    pod.sandboxes.push({ containerId: id, state: sandboxToContainerState(state) });
    pod.createdAtMs = toMs(createdAt);
  }
  for (const { id, metadata, image, state, labels } of containers) {
    if (metadata === undefined) continue;
    const uid = labels[POD_UID_LABEL] ?? "";
    const pod = pods.get(uid) ?? podOf(pods, uid, labels[POD_NAME_LABEL] ?? "", labels[POD_NAMESPACE_LABEL] ?? "");
    if (id === "" || image === undefined) continue;
    pod.containers.push({ containerId: id, name: metadata.name, state: toKubeContainerState(state) });
  }
  return [...pods.values()].sort((a, b) => b.createdAtMs - a.createdAtMs);
}

function podOf(pods: Map<string, GrowingPod>, podUid: string, name: string, namespace: string): GrowingPod {
  let pod = pods.get(podUid);
  if (pod === undefined) {
    pod = { podUid, name, namespace, createdAtMs: 0, containers: [], sandboxes: [] };
    pods.set(podUid, pod);
  }
  return pod;
}
