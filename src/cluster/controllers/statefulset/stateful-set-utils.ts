import type { V1StatefulSetStatus } from "@kubernetes/client-node";
import { isTerminating, nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { isPodAvailable, isPodReady } from "../../../staging/apimachinery/api/pod.js";
import { applyStrategicMergePatch } from "../../../staging/apimachinery/patch/strategic-merge-patch.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { factFor } from "../../../util/release/facts.js";
import type { ControllerRevision } from "../support/history/controller-revision.js";
import { podFromTemplate } from "../support/pod-control.js";
import { withStorage } from "./claims.js";
import { ordinalOf, POD_NAME, type StatefulSet } from "./identity.js";

export type StatefulSetStatus = Wire<V1StatefulSetStatus>;

const POD_INDEX = "apps.kubernetes.io/pod-index";
const REVISION = "controller-revision-hash";

export function replicasOf({ spec }: StatefulSet): number {
  return spec?.replicas ?? 1;
}

/** Mirrors getStartOrdinal. */
function startOrdinal({ spec }: StatefulSet): number {
  return spec?.ordinals?.start ?? 0;
}

/** The wanted ordinals, from the first to that of getEndOrdinal. */
export function ordinalsOf(set: StatefulSet): number[] {
  return Array.from({ length: replicasOf(set) }, (_, index) => startOrdinal(set) + index);
}

/** One pod after the other. Mirrors !allowsBurst. */
export function isMonotonic({ spec }: StatefulSet): boolean {
  return spec?.podManagementPolicy !== "Parallel";
}

/** The number of pods, from ordinal 0, that a rolling update does not change. */
export function partitionOf({ spec }: StatefulSet): number {
  return spec?.updateStrategy?.rollingUpdate?.partition ?? 0;
}

/** Reports whether the API server has stored it. Mirrors isCreated. */
export function isCreated({ status }: PodObject): boolean {
  return (status?.phase ?? "") !== "";
}

export function isRunningAndReady(pod: PodObject): boolean {
  return pod.status?.phase === "Running" && isPodReady(pod);
}

/** Mirrors isRunningAndAvailable. */
export function isRunningAndAvailable(pod: PodObject, { spec }: StatefulSet, nowMs: number): boolean {
  return pod.status?.phase === "Running" && isPodReady(pod) && isPodAvailable(pod, spec?.minReadySeconds ?? 0, nowMs);
}

export function isHealthy(pod: PodObject): boolean {
  return isRunningAndReady(pod) && !isTerminating(pod);
}

/** The name of the ControllerRevision that it was made from. Mirrors getPodRevision. */
export function podRevision({ metadata }: PodObject): string {
  return metadata.labels?.[REVISION] ?? "";
}

/** The pod with the label and the volumes that its place in the set gives it. Mirrors updateIdentity and updateStorage. */
export function withIdentity(set: StatefulSet, pod: PodObject, kubeVersion: string): PodObject {
  const index = factFor("podIndexLabel", kubeVersion) ? { [POD_INDEX]: String(ordinalOf(pod)) } : {};
  const labels = { ...pod.metadata.labels, [POD_NAME]: nameOf(pod), ...index };
  return withStorage(set, { ...pod, metadata: { ...pod.metadata, labels } }, ordinalOf(pod));
}

/** A pod of the set, not stored yet. Mirrors newStatefulSetPod and initIdentity. */
function newStatefulSetPod(set: StatefulSet, ordinal: number, revision: string, kubeVersion: string): PodObject {
  const name = `${nameOf(set)}-${ordinal}`;
  const pod = podFromTemplate(set, set.spec?.template ?? {});
  const labels = { ...pod.metadata.labels, [REVISION]: revision };
  // Only a new pod can get them: they cannot be changed.
  const spec = { containers: [], ...pod.spec, hostname: name, subdomain: set.spec?.serviceName };
  return withIdentity(set, { ...pod, metadata: { ...pod.metadata, name, labels }, spec } as PodObject, kubeVersion);
}

/** A set with the templates of its current and its update revision. */
export interface Versions {
  readonly currentSet: StatefulSet;
  readonly updateSet: StatefulSet;
  readonly currentRevision: ControllerRevision;
  readonly updateRevision: ControllerRevision;
}

/** Below the partition a pod is made from the current revision. Mirrors newVersionedStatefulSetPod. */
export function newVersionedStatefulSetPod(versions: Versions, ordinal: number, kubeVersion: string): PodObject {
  const { currentSet, updateSet, currentRevision, updateRevision } = versions;
  const { type, rollingUpdate } = currentSet.spec?.updateStrategy ?? {};
  const count = rollingUpdate ? (rollingUpdate.partition ?? 0) : (currentSet.status?.currentReplicas ?? 0);
  const limit = startOrdinal(currentSet) + count;
  if (type === "RollingUpdate" && ordinal < limit) {
    return newStatefulSetPod(currentSet, ordinal, nameOf(currentRevision), kubeVersion);
  }
  return newStatefulSetPod(updateSet, ordinal, nameOf(updateRevision), kubeVersion);
}

/** The set with the template of a revision. Mirrors ApplyRevision. */
export function applyRevision(set: StatefulSet, { data }: ControllerRevision): StatefulSet {
  // The patch takes its directives out of its argument.
  const patch = structuredClone(data) as Record<string, unknown>;
  return applyStrategicMergePatch({ ...set }, patch, "StatefulSet") as unknown as StatefulSet;
}
