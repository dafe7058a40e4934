import type { Container, Pod } from "../container/runtime.js";
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
