import { containersOf, initContainersOf, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import { resourcesOf } from "../../staging/apimachinery/corev1/container-resources.js";
import {
  canonicalQuantity,
  compareQuantities,
  isZeroQuantity,
  quantityOf,
  signOfQuantity,
  sumQuantities,
} from "../../staging/apimachinery/quantity.js";
import { isSet } from "../../util/records.js";
import type { PodStats } from "../apis/stats/v1alpha1.js";
import { podEphemeralUsage } from "./usage.js";

const RESOURCE = "ephemeral-storage";

/** Why a pod exceeds its own limits. */
export interface LocalStorageProblem {
  /** as metrics name it */
  readonly signal: "emptydirfs.limit" | "ephemeralpodfs.limit" | "ephemeralcontainerfs.limit";
  readonly message: string;
}

/**
 * Why a pod is evicted for exceeding its own limits of local storage; undefined if it does not. Pure.
 *
 * Mirrors localStorageEviction in pkg/kubelet/eviction/eviction_manager.go.
 */
export function localStorageProblem(
  pod: V1Pod,
  stats: PodStats,
  hasDedicatedImageFs: boolean,
): LocalStorageProblem | undefined {
  const checks = [
    ["emptydirfs.limit", () => emptyDirMessage(pod, stats)],
    ["ephemeralpodfs.limit", () => podMessage(pod, stats, hasDedicatedImageFs)],
    ["ephemeralcontainerfs.limit", () => containerMessage(pod, stats, hasDedicatedImageFs)],
  ] as const;
  for (const [signal, check] of checks) {
    const message = check();
    if (message !== undefined) return { signal, message };
  }
  return undefined;
}

/** Mirrors emptyDirLimitEviction. */
function emptyDirMessage(pod: V1Pod, { volume = [] }: PodStats): string | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const used = volume.find((one) => one.name === name)?.usedBytes;
    const limit = emptyDir?.sizeLimit;
    if (used === undefined || !isSet(limit) || signOfQuantity(limit) <= 0) continue;
    if (!isAbove(used, limit)) continue;
    return `Usage of EmptyDir volume ${JSON.stringify(name)} exceeds the limit "${canonicalQuantity(limit)}". `;
  }
  return undefined;
}

/** Mirrors podEphemeralStorageLimitEviction: the limits of the containers that have one, added up. */
function podMessage(pod: V1Pod, stats: PodStats, hasDedicatedImageFs: boolean): string | undefined {
  const limit = podLimit(pod);
  if (limit === undefined) return undefined;
  const parts = hasDedicatedImageFs
    ? (["logs", "localVolumeSource"] as const)
    : (["rootfs", "logs", "localVolumeSource"] as const);
  if (!isAbove(podEphemeralUsage(stats, pod, parts)[RESOURCE], limit)) return undefined;
  return `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `;
}

/** Mirrors containerEphemeralStorageLimitEviction: writable layers count where they share the disk of the logs. */
function containerMessage(pod: V1Pod, { containers }: PodStats, hasDedicatedImageFs: boolean): string | undefined {
  for (const { name, logs, rootfs } of containers) {
    const spec = containersOf(pod).find((container) => container.name === name);
    const limit = spec && resourcesOf(spec).limits[RESOURCE];
    if (!isSet(limit) || isZeroQuantity(limit)) continue;
    const used = (logs?.usedBytes ?? 0) + (hasDedicatedImageFs ? 0 : (rootfs?.usedBytes ?? 0));
    if (!isAbove(used, limit)) continue;
    return `Container ${name} exceeded its local ephemeral storage limit "${canonicalQuantity(limit)}". `;
  }
  return undefined;
}

/** Mirrors PodRequestsAndLimits in pkg/api/v1/resource/helpers.go, for one resource. */
function podLimit(pod: V1Pod): string | undefined {
  const limitOf = (container: object) => resourcesOf(container).limits[RESOURCE];
  const limits = containersOf(pod).map(limitOf).filter(isSet).map(String);
  const inits = initContainersOf(pod).map(limitOf).filter(isSet).map(String);
  const sum = limits.length === 0 ? [] : [sumQuantities(limits)];
  const [largest] = [...sum, ...inits].sort((a, b) => compareQuantities(b, a));
  return largest;
}

function isAbove(used: number, limit: unknown): boolean {
  return compareQuantities(quantityOf(used, "bytes"), limit) > 0;
}
