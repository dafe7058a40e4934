import { POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL } from "../../staging/cri/labels.js";
import type { Container, Pod } from "../container/runtime.js";
import { sandboxToContainerState, toKubeContainerState, toMs } from "./convert.js";
import type { ListedContainer, ListedSandbox } from "./runtime-service.js";

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
