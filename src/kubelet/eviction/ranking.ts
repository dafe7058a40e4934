import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { podRequests } from "../../staging/apimachinery/corev1/pod-requests.js";
import { quantityOf } from "../../staging/apimachinery/quantity.js";
import type { PodStats } from "../apis/stats/v1alpha1.js";
import { podText } from "../types/pod-update.js";
import { resourceOf, type Signal, type StarvedResource } from "./threshold.js";
import { type FsStatsPart, podDiskUsage } from "./usage.js";

/** @returns undefined for a pod without statistics: nothing of it runs yet */
export type StatsFunc = (pod: V1Pod) => PodStats | undefined;

/** A pod with the numbers that rank it. */
export interface RankedPod {
  readonly pod: V1Pod;
  readonly priority: number;
  /** bytes, inodes or processes; undefined without statistics */
  readonly usage: number | undefined;
  /** what the pod requests of the resource */
  readonly request: number;
  /** usage above the request: the last criterion */
  readonly excess: number;
}

/**
 * The pods in the order in which they are evicted: first those that use more than they request, then those of lower
 * priority, then those that exceed their request most. For processes only priority and number count. A pod without
 * statistics comes before one with. Pure; the sort is stable.
 *
 * Mirrors rankMemoryPressure, rankPIDPressure, rankDiskPressureFunc and buildSignalToRankFunc in pkg/kubelet/eviction/helpers.go.
 */
export function rankPods(
  signal: Signal,
  hasDedicatedImageFs: boolean,
  pods: readonly V1Pod[],
  statsOf: StatsFunc,
): RankedPod[] {
  const resource = resourceOf(signal);
  const parts = measuredParts(signal, hasDedicatedImageFs);
  const ranked = pods.map((pod) => measure(pod, statsOf(pod), resource, parts));
  return ranked.sort((a, b) => {
    const priority = a.priority - b.priority;
    const missing = trueFirst(a.usage === undefined, b.usage === undefined);
    if (resource === "pids") return priority || missing || b.excess - a.excess;
    return missing || trueFirst(exceedsRequest(a), exceedsRequest(b)) || priority || b.excess - a.excess;
  });
}

function measure(
  pod: V1Pod,
  stats: PodStats | undefined,
  resource: StarvedResource,
  parts: readonly FsStatsPart[],
): RankedPod {
  const requests = podRequests(pod.spec, { sidecars: true });
  const requested = requests.get(resource) ?? 0;
  const priority = pod.spec.priority ?? 0;
  // Upstream subtracts the requested bytes from inodes as well.
  const subtracted = resource === "inodes" ? (requests.get("ephemeral-storage") ?? 0) : requested;
  const usage = stats === undefined ? undefined : usageOf(pod, stats, resource, parts);
  const excess = usage === undefined ? 0 : usage - (resource === "pids" ? 0 : subtracted);
  return { pod, priority, usage, request: requested, excess };
}

function usageOf(pod: V1Pod, stats: PodStats, resource: StarvedResource, parts: readonly FsStatsPart[]): number {
  if (resource === "memory") return stats.memory?.workingSetBytes ?? 0;
  if (resource === "pids") return stats.processStats?.processCount ?? 0;
  return podDiskUsage(stats, pod, parts)[resource];
}

/** With a disk of its own for images, each disk holds other parts of a pod. */
function measuredParts(signal: Signal, hasDedicatedImageFs: boolean): readonly FsStatsPart[] {
  if (!hasDedicatedImageFs) return ["rootfs", "logs", "localVolumeSource"];
  return signal.startsWith("imagefs.") ? ["rootfs"] : ["logs", "localVolumeSource"];
}

function exceedsRequest({ usage, request }: RankedPod): boolean {
  return usage !== undefined && usage > request;
}

/** Mirrors cmpBool. */
function trueFirst(a: boolean, b: boolean): number {
  return Number(b) - Number(a);
}

/** `default/web`, `1Gi`, `100Mi`, `0`: its usage, empty without statistics, what it requests, its priority. */
export function rankRow({ pod, priority, usage, request }: RankedPod, resource: StarvedResource): readonly string[] {
  const unit = resource === "memory" || resource === "ephemeral-storage" ? "bytes" : "count";
  return [podText(pod), usage === undefined ? "" : quantityOf(usage, unit), quantityOf(request, unit), `${priority}`];
}

/** `default/web uses 1Gi, requests 100Mi, priority 0` */
export function rankText(ranked: RankedPod, resource: StarvedResource): string {
  const [pod, usage, request, priority] = rankRow(ranked, resource);
  const used = usage === "" ? "has no statistics" : `uses ${usage}`;
  return `${pod} ${used}${resource === "pids" ? "" : `, requests ${request}`}, priority ${priority}`;
}
