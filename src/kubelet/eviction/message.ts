import { containersOf, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import { compareQuantities, quantityOf } from "../../staging/apimachinery/quantity.js";
import { factFor } from "../../util/release/facts.js";
import type { ContainerStats, PodStats } from "../apis/stats/v1alpha1.js";
import type { Observations } from "./observations.js";
import { type StarvedResource, type Threshold, thresholdAmount } from "./threshold.js";

/** The reason of evicted pods, in their status and events. Mirrors Reason in pkg/kubelet/eviction/helpers.go. */
export const REASON = "Evicted";

export interface EvictionMessage {
  readonly message: string;
  /** of the event */
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Why a pod is evicted, with the containers that use more than they request.
 *
 * Mirrors evictionMessage in pkg/kubelet/eviction/helpers.go. Pure.
 * @param threshold the one that was met, with what was measured; its amounts are in the message since v1.26
 */
export function evictionMessage(
  resource: StarvedResource,
  pod: V1Pod,
  stats: PodStats | undefined,
  { threshold, observations }: { readonly threshold: Threshold; readonly observations: Observations },
  kubeVersion: string,
): EvictionMessage {
  const isDetailed = factFor("evictionMessageDetails", kubeVersion);
  let message = `The node was low on resource: ${resource}. `;
  if (stats === undefined) return { message, annotations: {} };
  if (isDetailed) message += thresholdMessage(threshold, observations);
  const offending: { readonly name: string; readonly usage: string }[] = [];
  for (const container of stats.containers) {
    const spec = containersOf(pod).find(({ name }) => name === container.name);
    const used = usageOf(container, resource);
    if (spec === undefined || used === undefined) continue;
    const usage = quantityOf(used, "bytes");
    const request = String(spec.resources?.requests?.[resource] ?? "0");
    if (compareQuantities(usage, request) <= 0) continue;
    offending.push({ name: container.name, usage });
    message += isDetailed
      ? `Container ${container.name} was using ${usage}, request is ${request}, has larger consumption of ${resource}. `
      : `Container ${container.name} was using ${usage}, which exceeds its request of ${request}. `;
  }
  return {
    message,
    annotations: {
      offending_containers: offending.map(({ name }) => name).join(","),
      offending_containers_usage: offending.map(({ usage }) => usage).join(","),
      starved_resource: resource,
    },
  };
}

function thresholdMessage({ signal, value }: Threshold, observations: Observations): string {
  const observed = observations.get(signal);
  if (observed === undefined) return "";
  const unit = signal.endsWith(".available") && signal !== "pid.available" ? "bytes" : "count";
  const amount = "quantity" in value ? value.quantity : quantityOf(thresholdAmount(value, observed.capacity), "bytes");
  return `Threshold quantity: ${amount}, available: ${quantityOf(observed.available, unit)}. `;
}

/** Inodes and processes are not measured for each container. */
function usageOf({ memory, rootfs, logs }: ContainerStats, resource: StarvedResource): number | undefined {
  if (resource === "memory") return memory?.workingSetBytes;
  if (resource !== "ephemeral-storage") return undefined;
  const [layer, log] = [rootfs?.usedBytes, logs?.usedBytes];
  return layer === undefined || log === undefined ? undefined : layer + log;
}
