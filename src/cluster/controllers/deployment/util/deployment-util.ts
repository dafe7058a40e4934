import type { V1Deployment } from "@kubernetes/client-node";
import { byCreationTimestamp } from "../../../../staging/apimachinery/api/objects.js";
import { POD_TEMPLATE_HASH } from "../../../../staging/apimachinery/api/pod.js";
import { scaledValue } from "../../../../staging/apimachinery/int-or-string.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import type { ReplicaSet } from "../../replicaset/replica-set-utils.js";
import type { PodTemplate } from "../../support/pod-control.js";
import { intAnnotation, MAX_REPLICAS_ANNOTATION } from "./annotations.js";

/** Pure functions about a Deployment and its ReplicaSets. Mirrors pkg/controller/deployment/util/deployment_util.go. */

export type Deployment = Wire<V1Deployment>;
export type DeploymentStatus = NonNullable<Deployment["status"]>;

const MAX_INT32 = 2_147_483_647;

/** The number of pods that a Deployment or a ReplicaSet wants. */
export function replicasOf({ spec }: Deployment | ReplicaSet): number {
  return spec?.replicas ?? 1;
}

export function isRollingUpdate({ spec }: Deployment): boolean {
  return spec?.strategy?.type === "RollingUpdate";
}

/** How many more pods than wanted may exist during a rollout. */
export function maxSurge(deployment: Deployment): number {
  return isRollingUpdate(deployment) ? resolveFenceposts(deployment).surge : 0;
}

/** How many fewer pods than wanted may be available during a rollout. */
export function maxUnavailable(deployment: Deployment): number {
  const replicas = replicasOf(deployment);
  if (!isRollingUpdate(deployment) || replicas === 0) return 0;
  return Math.min(resolveFenceposts(deployment).unavailable, replicas);
}

/** A surge is rounded up, unavailability down. Both 0 would stop every rollout. */
function resolveFenceposts(deployment: Deployment): { readonly surge: number; readonly unavailable: number } {
  const { rollingUpdate } = deployment.spec?.strategy ?? {};
  const replicas = replicasOf(deployment);
  const surge = scaledValue(rollingUpdate?.maxSurge ?? 0, replicas, true);
  const unavailable = scaledValue(rollingUpdate?.maxUnavailable ?? 0, replicas, false);
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

/** Mirrors HasProgressDeadline. */
export function progressDeadlineSeconds({ spec }: Deployment): number | undefined {
  const seconds = spec?.progressDeadlineSeconds ?? undefined;
  return seconds === MAX_INT32 ? undefined : seconds;
}

/** Mirrors HasRevisionHistoryLimit. */
export function revisionHistoryLimit({ spec }: Deployment): number | undefined {
  const limit = spec?.revisionHistoryLimit ?? undefined;
  return limit === MAX_INT32 ? undefined : limit;
}

/** Mirrors EqualIgnoreHash. */
export function equalIgnoreHash(a: PodTemplate | undefined, b: PodTemplate | undefined): boolean {
  return semanticallyEqual(withoutHash(a), withoutHash(b));
}

function withoutHash(template: PodTemplate | undefined): unknown {
  const { [POD_TEMPLATE_HASH]: _, ...labels } = template?.metadata?.labels ?? {};
  return { ...template, metadata: { ...template?.metadata, labels } };
}

/** The largest first, of equal ones the newest. Mirrors ReplicaSetsBySizeNewer. */
export function bySizeNewer(a: ReplicaSet, b: ReplicaSet): number {
  return replicasOf(b) - replicasOf(a) || byCreationTimestamp(b, a);
}

/** The largest first, of equal ones the oldest. Mirrors ReplicaSetsBySizeOlder. */
export function bySizeOlder(a: ReplicaSet, b: ReplicaSet): number {
  return replicasOf(b) - replicasOf(a) || byCreationTimestamp(a, b);
}

/** The oldest set with the Deployment's template: older releases made several. */
export function findNewReplicaSet({ spec }: Deployment, sets: readonly ReplicaSet[]): ReplicaSet | undefined {
  return [...sets].sort(byCreationTimestamp).find((set) => equalIgnoreHash(set.spec?.template, spec?.template));
}

export function findOldReplicaSets(deployment: Deployment, sets: readonly ReplicaSet[]): ReplicaSet[] {
  const newSet = findNewReplicaSet(deployment, sets);
  return sets.filter(({ metadata }) => metadata.uid !== newSet?.metadata.uid);
}

/** The sets that want pods. Mirrors FilterActiveReplicaSets in pkg/controller/controller_utils.go. */
export function activeReplicaSets(sets: readonly (ReplicaSet | undefined)[]): ReplicaSet[] {
  return sets.filter((set): set is ReplicaSet => set !== undefined && replicasOf(set) > 0);
}

/** The only set with pods; without one the newest set; undefined if several have pods. */
export function findActiveOrLatest(
  newSet: ReplicaSet | undefined,
  oldSets: readonly ReplicaSet[],
): ReplicaSet | undefined {
  const [active, ...others] = activeReplicaSets([...oldSets, newSet]);
  if (active !== undefined) return others.length === 0 ? active : undefined;
  return newSet ?? [...oldSets].sort(byCreationTimestamp).at(-1);
}

/** Sums up the wanted pods. Mirrors GetReplicaCountForReplicaSets. */
export function wantedCount(sets: readonly (ReplicaSet | undefined)[]): number {
  return sets.reduce((sum, set) => sum + (set === undefined ? 0 : replicasOf(set)), 0);
}

/** Sums up a count of the sets' status. Mirrors GetActualReplicaCountForReplicaSets and its neighbours. */
export function statusCount(
  sets: readonly (ReplicaSet | undefined)[],
  field: "replicas" | "readyReplicas" | "availableReplicas",
): number {
  return sets.reduce((sum, set) => sum + (set?.status?.[field] ?? 0), 0);
}

/** How many pods the new set may want now, so that there are at most `replicas + maxSurge`. Mirrors NewRSNewReplicas. */
export function newReplicaSetReplicas(
  deployment: Deployment,
  sets: readonly (ReplicaSet | undefined)[],
  current: number,
): number {
  const replicas = replicasOf(deployment);
  if (!isRollingUpdate(deployment)) return replicas;
  // Not resolved together with maxUnavailable, which may be 1 because this is 0.
  const surge = scaledValue(deployment.spec?.strategy?.rollingUpdate?.maxSurge ?? 0, replicas, true);
  const room = replicas + surge - wantedCount(sets);
  return room <= 0 ? current : current + Math.min(room, replicas - current);
}

/** Reports whether the new set alone has all pods, and they are available. Mirrors IsSaturated. */
export function isSaturated(deployment: Deployment, set: ReplicaSet | undefined, desired: number | undefined): boolean {
  const replicas = replicasOf(deployment);
  if (set === undefined || desired !== replicas || replicasOf(set) !== replicas) return false;
  return (set.status?.availableReplicas ?? 0) === replicas;
}

/**
 * The share of a set in a change of the Deployment's size. Mirrors GetProportion and getReplicaSetFraction.
 * @param toAdd pods to add to all sets, or to remove if negative
 * @param added what the sets before it got
 */
export function proportionOf(set: ReplicaSet, deployment: Deployment, toAdd: number, added: number): number {
  const size = replicasOf(set);
  if (size === 0 || toAdd === 0 || toAdd === added) return 0;
  const fraction = fractionOf(set, size, deployment);
  const allowed = toAdd - added;
  return toAdd > 0 ? Math.min(fraction, allowed) : Math.max(fraction, allowed);
}

function fractionOf(set: ReplicaSet, size: number, deployment: Deployment): number {
  const replicas = replicasOf(deployment);
  if (replicas === 0) return -size;
  const before = intAnnotation(set, MAX_REPLICAS_ANNOTATION) ?? deployment.status?.replicas ?? 0;
  const exact = (size * (replicas + maxSurge(deployment))) / before;
  // Rounds half away from zero, as integer.RoundToInt32. Without pods there is no share.
  return Number.isFinite(exact) ? Math.sign(exact) * Math.round(Math.abs(exact)) - size : 0;
}

/** All pods have the new template and are available. Mirrors DeploymentComplete. */
export function deploymentComplete(deployment: Deployment, status: DeploymentStatus): boolean {
  const replicas = replicasOf(deployment);
  return (
    (status.updatedReplicas ?? 0) === replicas &&
    (status.replicas ?? 0) === replicas &&
    (status.availableReplicas ?? 0) === replicas &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

/** Something moved forward since the last status. Mirrors DeploymentProgressing. */
export function deploymentProgressing({ status: before = {} }: Deployment, status: DeploymentStatus): boolean {
  const updated = (one: DeploymentStatus) => one.updatedReplicas ?? 0;
  const old = (one: DeploymentStatus) => (one.replicas ?? 0) - updated(one);
  return (
    updated(status) > updated(before) ||
    old(status) < old(before) ||
    (status.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (status.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}
