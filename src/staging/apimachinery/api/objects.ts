import type {
  V1ConfigMap,
  V1Lease,
  V1Pod,
  V1PodCondition,
  V1Scale,
  V1Secret,
  V1Service,
  V1Toleration,
} from "@kubernetes/client-node";
import type { Wire } from "../wire.js";
import type { KubeObject } from "./meta.js";

export type ConfigMapObject = Wire<V1ConfigMap>;
export type LeaseObject = Wire<V1Lease>;
export type PodCondition = Wire<V1PodCondition>;
export type PodObject = Wire<V1Pod>;
export type Scale = Wire<V1Scale>;
export type SecretObject = Wire<V1Secret>;
export type Service = Wire<V1Service>;
export type Toleration = Wire<V1Toleration>;

export function nameOf(object: KubeObject): string {
  return object.metadata.name ?? "";
}

/** The oldest first, by name if they were created in the same second. Mirrors ReplicaSetsByCreationTimestamp and its kind. */
export function byCreationTimestamp(a: KubeObject, b: KubeObject): number {
  const [createdA, createdB] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  if (createdA !== createdB) return createdA < createdB ? -1 : 1;
  return nameOf(a) < nameOf(b) ? -1 : 1;
}

/** Reports whether the object is being deleted: it waits for its grace period or for finalizers. */
export function isTerminating(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

/** Drops the counts that are 0, as Go's omitempty does. */
export function withoutZeros<T extends Readonly<Record<string, number | undefined>>>(counts: T): Partial<T> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => (count ?? 0) !== 0)) as Partial<T>;
}
