import type { V1Volume } from "@kubernetes/client-node";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { isSet } from "../../util/records.js";
import type { FsStats, PodStats } from "../apis/stats/v1alpha1.js";
import { sumDiskUsage } from "../stats/disk-usage.js";
import { isLocalEphemeralVolume } from "../volumes/plugins.js";

/** A part of a pod's use of the disk: writable layers, logs, local volumes. Mirrors fsStatsType. */
export type FsStatsPart = "rootfs" | "logs" | "localVolumeSource";

/** Bytes, and inodes. */
interface DiskUsage {
  readonly "ephemeral-storage": number;
  readonly inodes: number;
}

/**
 * What a pod uses of a disk. Pure.
 *
 * Mirrors podDiskUsage, containerUsage, podLocalVolumeUsage and localVolumeNames in pkg/kubelet/eviction/helpers.go.
 */
export function podDiskUsage(stats: PodStats, pod: V1Pod, parts: readonly FsStatsPart[]): DiskUsage {
  const volumes = (pod.spec.volumes ?? []).filter(isLocalVolume).map(({ name }) => name);
  return sumOf(measured(stats, volumes, parts));
}

/** Mirrors podLocalEphemeralStorageUsage: without host paths, which outlive the pod. */
export function podEphemeralUsage(stats: PodStats, pod: V1Pod, parts: readonly FsStatsPart[]): DiskUsage {
  if (stats.ephemeralStorage !== undefined) return sumOf([stats.ephemeralStorage]);
  const volumes = (pod.spec.volumes ?? []).filter(isLocalEphemeralVolume).map(({ name }) => name);
  return sumOf(measured(stats, volumes, parts));
}

function measured(
  { containers, volume = [] }: PodStats,
  volumes: readonly string[],
  parts: readonly FsStatsPart[],
): (FsStats | undefined)[] {
  return [
    ...(parts.includes("rootfs") ? containers.map(({ rootfs }) => rootfs) : []),
    ...(parts.includes("logs") ? containers.map(({ logs }) => logs) : []),
    ...(parts.includes("localVolumeSource") ? volume.filter(({ name }) => volumes.includes(name)) : []),
  ];
}

function sumOf(all: readonly (FsStats | undefined)[]): DiskUsage {
  const { usedBytes, inodesUsed } = sumDiskUsage(all);
  return { "ephemeral-storage": usedBytes, inodes: inodesUsed };
}

type Volume = Wire<V1Volume>;

function isOnDisk({ emptyDir }: Volume): boolean {
  return isSet(emptyDir) && (emptyDir.medium ?? "") !== "Memory";
}

function isLocalVolume(volume: Volume): boolean {
  return isOnDisk(volume) || [volume.hostPath, volume.configMap, volume.gitRepo].some(isSet);
}
