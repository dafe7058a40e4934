import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { isMirrorPod } from "../../staging/apimachinery/corev1/pod-references.js";
import type { Scope } from "../../trace/scope.js";

/**
 * Pod sources, and the annotations by which the kubelet records them.
 *
 * Mirrors pkg/kubelet/types/pod_update.go.
 */

/** A source name in an update; `*` means all sources. */
export type PodSource = "file" | "http" | "api";

/** The source of a pod: `file`, `http` or `api`. */
export const CONFIG_SOURCE_ANNOTATION = "kubernetes.io/config.source";
/** When the kubelet first saw the pod. */
export const CONFIG_FIRST_SEEN_ANNOTATION = "kubernetes.io/config.seen";
/** On a static pod: the hash of its manifest. */
export const CONFIG_HASH_ANNOTATION = "kubernetes.io/config.hash";

/** What happened to the pods of an update; SET replaces all pods of its source. */
export type PodOperation = "SET" | "ADD" | "DELETE" | "REMOVE" | "UPDATE" | "RECONCILE";

export interface PodUpdate {
  readonly op: PodOperation;
  readonly source: PodSource;
  readonly pods: readonly V1Pod[];
  /** why it was sent, if a trace keeps causes */
  readonly scope?: Scope;
}

/** Why a pod needs a sync. Mirrors SyncPodType. */
export type SyncPodType = "sync" | "update" | "create" | "kill";

/** Mirrors GetPodSource. @returns undefined when the pod has no such annotation */
export function getPodSource(pod: V1Pod): string | undefined {
  return pod.metadata.annotations?.[CONFIG_SOURCE_ANNOTATION];
}

/** Reports whether the pod comes from a source other than the API server. Mirrors IsStaticPod. */
export function isStaticPod(pod: V1Pod): boolean {
  const source = getPodSource(pod);
  return source !== undefined && source !== "api";
}

/** Mirrors SystemCriticalPriority in pkg/apis/scheduling/types.go. */
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/** Mirrors IsCriticalPod. */
export function isCriticalPod(pod: V1Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= SYSTEM_CRITICAL_PRIORITY;
}

/** `name_namespace`. Mirrors GetPodFullName in pkg/kubelet/container/helpers.go. */
export function getPodFullName({ metadata }: V1Pod): string {
  return `${metadata.name}_${metadata.namespace}`;
}

/** `namespace/name`: as logs and traces name a pod. Mirrors klog.KObj. */
export function podText({ metadata }: V1Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}
