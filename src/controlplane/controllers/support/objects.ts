import type {
  V1ConfigMap,
  V1Lease,
  V1Node,
  V1NodeCondition,
  V1Pod,
  V1PodCondition,
  V1Secret,
  V1Taint,
  V1Toleration,
} from "@kubernetes/client-node";
import type { KubeObject } from "../../../apimachinery/api/meta.js";
import type { Wire } from "../../../apimachinery/wire.js";

export type ConditionStatus = "True" | "False" | "Unknown";
export type ConfigMapObject = Wire<V1ConfigMap>;
export type LeaseObject = Wire<V1Lease>;
export type NodeCondition = Wire<V1NodeCondition>;
export type NodeObject = Wire<V1Node>;
export type PodCondition = Wire<V1PodCondition>;
export type PodObject = Wire<V1Pod>;
export type SecretObject = Wire<V1Secret>;
export type Taint = Wire<V1Taint>;
export type Toleration = Wire<V1Toleration>;

export function nameOf(object: KubeObject): string {
  return object.metadata.name ?? "";
}

/** Mirrors GetNodeCondition in pkg/controller/util/node/controller_utils.go. */
export function nodeCondition(node: NodeObject, type: string): NodeCondition | undefined {
  return node.status?.conditions?.find((condition) => condition.type === type);
}

/** Reports whether the object is being deleted: it waits for its grace period or for finalizers. */
export function isTerminating(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}
