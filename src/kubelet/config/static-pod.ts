import type { V1Pod, V1Toleration } from "../../apimachinery/api/pod.js";
import { CONFIG_HASH_ANNOTATION } from "../types/pod-update.js";
import { type PodOrigin, staticPodUid } from "./static-pod-uid.js";

/**
 * Makes a pod of this node out of what a manifest says: a uid that follows from its content, a name that is unique in the
 * cluster, the node, and (from a file) a toleration of everything that would evict it.
 *
 * Mirrors applyDefaults in pkg/kubelet/config/common.go. Pure.
 */
export function applyDefaults(pod: V1Pod, origin: PodOrigin): V1Pod {
  const { nodeName, isFile } = origin;
  const uid = pod.metadata.uid === "" ? staticPodUid(pod, origin) : pod.metadata.uid;
  const tolerations = isFile ? tolerated(pod.spec.tolerations ?? []) : pod.spec.tolerations;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      uid,
      name: generatePodName(pod.metadata.name, nodeName),
      namespace: pod.metadata.namespace === "" ? "default" : pod.metadata.namespace,
      annotations: { ...pod.metadata.annotations, [CONFIG_HASH_ANNOTATION]: uid },
    },
    spec: { ...pod.spec, nodeName, ...(tolerations === undefined ? {} : { tolerations }) },
    status: { ...pod.status, phase: "Pending" },
  };
}

/** `web` on node `N1` is `web-n1`. Mirrors generatePodName. */
function generatePodName(name: string, nodeName: string): string {
  return `${name}-${nodeName.toLowerCase()}`;
}

/** Mirrors AddOrUpdateTolerationInPodSpec in pkg/apis/core/v1/helper/helpers.go. */
function tolerated(tolerations: readonly V1Toleration[]): readonly V1Toleration[] {
  const all = { operator: "Exists", effect: "NoExecute" };
  const isThere = tolerations.some(
    ({ key, value, operator, effect }) => !key && !value && operator === all.operator && effect === all.effect,
  );
  return isThere ? tolerations : [...tolerations, all];
}
