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
import type { KubeObject, ObjectMeta } from "../../../apimachinery/api/meta.js";
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

/** `namespace/name`, or the name of a cluster-scoped object. */
export function keyOf(object: { readonly metadata: ObjectMeta }): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined || namespace === "" ? (name ?? "") : `${namespace}/${name ?? ""}`;
}

export function nameOf(object: KubeObject): string {
  return object.metadata.name ?? "";
}

/** Splits a key of `keyOf`. */
export function splitKey(key: string): { readonly namespace: string | undefined; readonly name: string } {
  const slash = key.indexOf("/");
  return slash < 0
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Mirrors GetNodeCondition in pkg/controller/util/node/controller_utils.go. */
export function nodeCondition(node: NodeObject, type: string): NodeCondition | undefined {
  return node.status?.conditions?.find((condition) => condition.type === type);
}

/** Reports whether the object is being deleted, and waits for its grace period or for finalizers. */
export function isTerminating(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}
