import { type Container, type Pod, samePod } from "../container/runtime.js";
import { sandboxToContainerState, toKubeContainerState, toMs } from "./convert.js";
import { POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from "./labels.js";
import type { ListedContainer, ListedSandbox } from "./runtime-service.js";

interface PodInMaking {
  readonly podUid: string;
  readonly name: string;
  readonly namespace: string;
  createdAtMs: number;
  readonly containers: Container[];
  readonly sandboxes: Container[];
}

/**
 * Puts the containers and sandboxes of both lists together by the pod they belong to. Pure.
 *
 * A sandbox says whose it is in its metadata, a container in its labels: one without them belongs to a pod without a uid,
 * which is how containers that no kubelet made appear. Entries without metadata (or containers without an image) are left
 * out. Newest pod first.
 *
 * Mirrors GetPods in pkg/kubelet/kuberuntime/kuberuntime_manager.go.
 */
export function groupIntoPods(sandboxes: readonly ListedSandbox[], containers: readonly ListedContainer[]): Pod[] {
  const pods = new Map<string, PodInMaking>();
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

function podOf(pods: Map<string, PodInMaking>, podUid: string, name: string, namespace: string): PodInMaking {
  let pod = pods.get(podUid);
  if (pod === undefined) {
    pod = { podUid, name, namespace, createdAtMs: 0, containers: [], sandboxes: [] };
    pods.set(podUid, pod);
  }
  return pod;
}

/**
 * `groupIntoPods` with a memory: what has not changed since the last time is the same object again, so that a relist in
 * which nothing happened costs next to nothing, and leaves nothing to be collected.
 */
export class PodGrouper {
  #sandboxes: readonly ListedSandbox[] = [];
  #containers: readonly ListedContainer[] = [];
  #pods: readonly Pod[] = [];

  group(sandboxes: readonly ListedSandbox[], containers: readonly ListedContainer[]): readonly Pod[] {
    const isSame = sameItems(this.#sandboxes, sandboxes) && sameItems(this.#containers, containers);
    this.#sandboxes = sandboxes;
    this.#containers = containers;
    if (isSame) return this.#pods;
    const before = new Map(this.#pods.map((pod) => [pod.podUid, pod]));
    this.#pods = groupIntoPods(sandboxes, containers).map((pod) => {
      const known = before.get(pod.podUid);
      return known !== undefined && samePod(known, pod) ? known : pod;
    });
    return this.#pods;
  }
}

/** The lists may be the very same, or have the very same entries: what decodes them keeps what has not changed. */
function sameItems<T>(before: readonly T[], after: readonly T[]): boolean {
  if (before === after) return true;
  if (before.length !== after.length) return false;
  for (let i = 0; i < before.length; i++) if (before[i] !== after[i]) return false;
  return true;
}
