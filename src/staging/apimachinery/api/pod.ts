import type * as api from "@kubernetes/client-node";
import { isRecord, isSet } from "../../../util/records.js";
import { rfc3339 } from "../time.js";
import type { Wire } from "../wire.js";
import type { KubeObject, ObjectMeta } from "./meta.js";

/** The label that tells the pods of a Deployment's ReplicaSets apart. Mirrors DefaultDeploymentUniqueLabelKey in k8s.io/api/apps/v1. */
export const POD_TEMPLATE_HASH = "pod-template-hash";

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
export type EphemeralContainerSpec = Wire<api.V1EphemeralContainer>;
/** A container of any kind: regular, init or ephemeral. */
export type ContainerSpec = V1Container | EphemeralContainerSpec;

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";

/**
 * Reads an API object as a pod.
 * @returns undefined if its name, namespace or uid is missing or cannot be a file's name, or if its spec or status has another
 * shape, which a real API server does not send
 */
export function asPod(object: KubeObject): V1Pod | undefined {
  const { name, namespace, uid } = object.metadata;
  if (!isPathSegment(name) || !isPathSegment(namespace) || !isPathSegment(uid)) return undefined;
  const { spec = {}, status = {} } = object;
  if (!isRecord(spec) || !isRecord(status)) return undefined;
  const lists = [spec["containers"], spec["initContainers"], spec["ephemeralContainers"], spec["volumes"]];
  if (!lists.every((items) => !isSet(items) || (Array.isArray(items) && items.every(isNamed)))) return undefined;
  const metadata = { ...object.metadata, name, namespace, uid };
  return { ...object, metadata, spec: spec as V1PodSpec, status: status as V1PodStatus };
}

/** Mirrors IsValidPathSegmentName in k8s.io/apimachinery/pkg/api/validation/path/name.go. */
function isPathSegment(text: unknown): text is string {
  return typeof text === "string" && text !== "." && text !== ".." && !/[/%\0]/.test(text);
}

function isNamed(item: unknown): boolean {
  return isRecord(item) && typeof item["name"] === "string";
}

interface HasSpec {
  readonly spec?: V1PodSpec | undefined;
}

export function containersOf({ spec }: HasSpec): readonly V1Container[] {
  return spec?.containers ?? [];
}

export function initContainersOf({ spec }: HasSpec): readonly V1Container[] {
  return spec?.initContainers ?? [];
}

export function ephemeralContainersOf({ spec }: HasSpec): readonly EphemeralContainerSpec[] {
  return spec?.ephemeralContainers ?? [];
}

/** Containers of all kinds: init, regular, ephemeral. */
export function allContainersOf(pod: HasSpec): readonly ContainerSpec[] {
  return [...initContainersOf(pod), ...containersOf(pod), ...ephemeralContainersOf(pod)];
}

/** A sidecar is an init container with restartPolicy Always. Mirrors IsRestartableInitContainer in pkg/api/v1/pod/util.go. */
export function isRestartableInitContainer({ restartPolicy }: ContainerSpec): boolean {
  return restartPolicy === "Always";
}

export function sidecarsOf(pod: HasSpec): readonly V1Container[] {
  return initContainersOf(pod).filter(isRestartableInitContainer);
}

/** Mirrors IsPodTerminal in pkg/api/v1/pod/util.go. */
export function isPodPhaseTerminal(phase: V1PodStatus["phase"]): boolean {
  return phase === "Failed" || phase === "Succeeded";
}

/** Mirrors GetPodConditionFromList in pkg/api/v1/pod/util.go. */
export function findCondition(conditions: V1PodStatus["conditions"], type: string): V1PodCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

interface HasStatus {
  readonly status?: V1PodStatus | undefined;
}

/** Mirrors IsPodReady in pkg/api/v1/pod/util.go. */
export function isPodReady({ status }: HasStatus): boolean {
  return findCondition(status?.conditions, "Ready")?.status === "True";
}

/** @returns when a ready pod became ready, Unix ms; undefined if it is not ready, or does not say since when */
export function podReadyTimeMs({ status }: HasStatus): number | undefined {
  const ready = findCondition(status?.conditions, "Ready");
  const ms = Date.parse(ready?.status === "True" ? (ready.lastTransitionTime ?? "") : "");
  return Number.isNaN(ms) ? undefined : ms;
}

/**
 * Reports whether a pod has been ready for `minReadySeconds`; 0: whether it is ready.
 * Mirrors IsPodAvailable in pkg/api/v1/pod/util.go.
 * Differs: it is available when the time has passed, upstream a nanosecond later.
 */
export function isPodAvailable(pod: HasStatus, minReadySeconds: number, nowMs: number): boolean {
  if (minReadySeconds === 0) return isPodReady(pod);
  const readyMs = podReadyTimeMs(pod);
  return readyMs !== undefined && readyMs + minReadySeconds * 1000 <= nowMs;
}

/**
 * The number of a service's port in a pod: the target port, or the container port of that name.
 * Mirrors FindPort in pkg/api/v1/pod/util.go. @returns undefined if the pod has no such port
 */
export function findPort(pod: HasSpec, { targetPort, port, protocol }: Wire<api.V1ServicePort>): number | undefined {
  if (typeof targetPort !== "string") return Number(targetPort ?? port);
  for (const { ports } of containersOf(pod)) {
    const found = ports?.find((one) => one.name === targetPort && (one.protocol ?? "TCP") === protocol);
    if (found !== undefined) return found.containerPort;
  }
  return undefined;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string | null | undefined;
}

/**
 * Replaces the condition of the same type, or appends it. The transition time changes only with the status. Pure.
 * Mirrors UpdatePodCondition in pkg/api/v1/pod/util.go.
 * @param now RFC 3339
 */
export function withCondition<T extends Condition>(
  conditions: readonly T[] | undefined,
  condition: T,
  now: string,
): T[] {
  const before = conditions?.find(({ type }) => type === condition.type);
  const isSameStatus = before?.status === condition.status;
  return replaceOrAppend(conditions, {
    ...condition,
    lastTransitionTime: (isSameStatus ? before.lastTransitionTime : undefined) ?? now,
  });
}

/**
 * A pod with the condition DisruptionTarget: it does not end by itself (since v1.26). Pure.
 * @returns the same pod if it has the condition
 */
export function withDisruptionTarget<T extends HasStatus>(pod: T, reason: string, message: string, nowMs: number): T {
  const type = "DisruptionTarget";
  const before = findCondition(pod.status?.conditions, type);
  if (before?.status === "True" && before.reason === reason && before.message === message) return pod;
  const now = rfc3339(nowMs);
  const condition = { type, status: "True", lastProbeTime: null, lastTransitionTime: now, reason, message };
  return { ...pod, status: { ...pod.status, conditions: withCondition(pod.status?.conditions, condition, now) } };
}

export function replaceOrAppend<T extends Condition>(conditions: readonly T[] = [], condition: T): T[] {
  const i = conditions.findIndex(({ type }) => type === condition.type);
  return i < 0 ? [...conditions, condition] : conditions.with(i, condition);
}
