import { createHash } from "node:crypto";
import type { V1Pod, V1Toleration } from "../../api/pod.js";
import { CONFIG_HASH_ANNOTATION } from "../types/pod-update.js";

/** Where a manifest was read, and for which node. */
export interface PodOrigin {
  /** path of the file, or the URL */
  readonly source: string;
  readonly isFile: boolean;
  readonly nodeName: string;
}

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
export function generatePodName(name: string, nodeName: string): string {
  return `${name}-${nodeName.toLowerCase()}`;
}

/**
 * 32 hexadecimal digits: the same for the same content from the same place on the same node, and another one as soon as
 * anything of it changes, so that a changed file is another pod.
 *
 * Differs: upstream hashes Go's picture of its internal pod type, which only Go with those very types can make. So the
 * digits are not those of a real kubelet with the same file; all else that upstream says of them holds.
 */
function staticPodUid(pod: V1Pod, { source, isFile, nodeName }: PodOrigin): string {
  const hash = createHash("md5").update(JSON.stringify(sorted(pod)));
  hash.update(isFile ? `host:${nodeName}file:${source}` : `url:${source}`);
  return hash.digest("hex");
}

/** The order of members in a file means nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}

/** Mirrors AddOrUpdateTolerationInPodSpec in pkg/apis/core/v1/helper/helpers.go. */
function tolerated(tolerations: readonly V1Toleration[]): readonly V1Toleration[] {
  const all = { operator: "Exists", effect: "NoExecute" };
  const isThere = tolerations.some(
    ({ key, value, operator, effect }) => !key && !value && operator === all.operator && effect === all.effect,
  );
  return isThere ? tolerations : [...tolerations, all];
}
