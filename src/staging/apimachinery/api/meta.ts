import type { V1ListMeta, V1ObjectMeta, V1OwnerReference, V1Status, V1StatusCause } from "@kubernetes/client-node";
import type { Wire } from "../wire.js";

/** What all API objects have in common. Mirrors k8s.io/apimachinery/pkg/apis/meta/v1. */

export type OwnerReference = Wire<V1OwnerReference>;

/** Times are RFC 3339 in UTC with whole seconds (`2026-01-02T03:04:05Z`); resourceVersion is an opaque string. */
export type ObjectMeta = Wire<V1ObjectMeta>;

/** An API object of any kind. Treat it as deeply immutable: the store shares its objects. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export type ListMeta = Wire<V1ListMeta>;

export interface KubeList<T = KubeObject> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ListMeta;
  readonly items: readonly T[];
}

export type StatusCause = Wire<V1StatusCause>;

/** The response to failed requests, and to most DELETE requests. */
export type Status = Wire<V1Status> & {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly status: "Success" | "Failure";
};

export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

export interface WatchEvent<T = KubeObject> {
  readonly type: WatchEventType;
  readonly object: T;
}

/** Reports whether a response is a Status instead of an object. */
export function isStatus(value: unknown): value is Status {
  return typeof value === "object" && value !== null && (value as { kind?: unknown }).kind === "Status";
}
