import type * as api from "@kubernetes/client-node";
import type { Wire } from "../wire.js";
import type { KubeObject, ObjectMeta } from "./meta.js";

/** A pod with an identity, a spec and a status: the form that the kubelet uses. */
export type V1Pod = Wire<api.V1Pod> & {
  readonly metadata: ObjectMeta & { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly spec: V1PodSpec;
  readonly status: V1PodStatus;
};

export type V1PodSpec = Wire<api.V1PodSpec>;
export type V1Container = Wire<api.V1Container>;
export type V1Toleration = Wire<api.V1Toleration>;
export type V1PodStatus = Wire<api.V1PodStatus>;
export type V1PodCondition = Wire<api.V1PodCondition>;
export type V1ContainerStatus = Wire<api.V1ContainerStatus>;
export type V1ContainerState = Wire<api.V1ContainerState>;
export type V1ContainerStateTerminated = Wire<api.V1ContainerStateTerminated>;

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
export type ConditionStatus = "True" | "False" | "Unknown";

/**
 * Reads an API object as a pod.
 * @returns undefined if it lacks a name, a namespace or a uid
 */
export function asPod(object: KubeObject): V1Pod | undefined {
  const { name, namespace, uid } = object.metadata;
  if (typeof name !== "string" || typeof namespace !== "string" || typeof uid !== "string") return undefined;
  const spec = (object["spec"] ?? {}) as V1PodSpec;
  const status = (object["status"] ?? {}) as V1PodStatus;
  return { ...object, metadata: { ...object.metadata, name, namespace, uid }, spec, status };
}

/** Mirrors IsPodTerminal in pkg/api/v1/pod/util.go. */
export function isPodPhaseTerminal(phase: V1PodStatus["phase"]): boolean {
  return phase === "Failed" || phase === "Succeeded";
}

/** Mirrors GetPodConditionFromList in pkg/api/v1/pod/util.go. */
export function findCondition(conditions: V1PodStatus["conditions"], type: string): V1PodCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}
