import { createHash } from "node:crypto";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { withToleration } from "../../staging/apimachinery/corev1/tolerations.js";
import { defined } from "../../util/defined.js";
import { CONFIG_HASH_ANNOTATION } from "../types/pod-update.js";

/** The file or URL that a manifest came from, and the node that reads it. */
export interface PodOrigin {
  /** path of the file, or the URL */
  readonly source: string;
  readonly isFile: boolean;
  readonly nodeName: string;
}

/**
 * Completes a pod that was read from a manifest: sets its UID, a name that is unique in the cluster, its node, and (for a
 * pod from a file) a toleration of every NoExecute taint.
 *
 * Mirrors applyDefaults in pkg/kubelet/config/common.go. Pure.
 */
export function applyDefaults(pod: V1Pod, origin: PodOrigin): V1Pod {
  const { nodeName, isFile } = origin;
  const uid = pod.metadata.uid === "" ? hashPod(pod, origin) : pod.metadata.uid;
  const tolerations = isFile ? withToleration(pod.spec.tolerations ?? [], NO_EXECUTE) : pod.spec.tolerations;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      uid,
      name: generatePodName(pod.metadata.name, nodeName),
      namespace: pod.metadata.namespace === "" ? "default" : pod.metadata.namespace,
      annotations: { ...pod.metadata.annotations, [CONFIG_HASH_ANNOTATION]: uid },
    },
    spec: { ...pod.spec, nodeName, ...defined({ tolerations }) },
    status: { ...pod.status, phase: "Pending" },
  };
}

const NO_EXECUTE = { operator: "Exists", effect: "NoExecute" } as const;

/**
 * 32 hexadecimal digits that depend on the pod's content, its source and the node: a changed manifest is another pod.
 * Mirrors applyDefaults in pkg/kubelet/config/common.go (hasher).
 * Differs: hashes JSON with sorted keys. Upstream hashes Go's dump of its internal types, which each release changes;
 * so a static pod's UID here differs from a real kubelet's.
 */
function hashPod(pod: V1Pod, { source, isFile, nodeName }: PodOrigin): string {
  const place = isFile ? `host:${nodeName}file:${source}` : `url:${source}`;
  return createHash("md5")
    .update(JSON.stringify(canonical(pod)))
    .update(place)
    .digest("hex");
}

/** Sorts keys and drops null members, which mean the same as absent ones. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(
    members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => [key, canonical(member)]),
  );
}

/** On node `N1`, `web` becomes `web-n1`. Mirrors generatePodName. */
function generatePodName(name: string, nodeName: string): string {
  return `${name}-${nodeName.toLowerCase()}`;
}
