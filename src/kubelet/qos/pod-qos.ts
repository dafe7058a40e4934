import type { V1Pod } from "../../apimachinery/api/pod.js";
import { nanoValue } from "../../util/quantity.js";
import type { ResourceList } from "./quantity.js";
import { resourcesOf } from "./resources.js";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

/** Only these decide; other resources do not matter for the class. */
const QOS_COMPUTE_RESOURCES = ["cpu", "memory"];

/**
 * The quality of service class of a pod. Guaranteed: every container limits cpu and memory, and requests are as high as
 * the limits. BestEffort: nobody asks for anything. Burstable: all others. Pure.
 *
 * Mirrors pkg/apis/core/v1/helper/qos/qos.go (GetPodQOS).
 */
export function getPodQos({ spec }: V1Pod): QosClass {
  const resources = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(resourcesOf);
  const requests = sumOf(resources.map((one) => one.requests));
  const limits = sumOf(resources.map((one) => one.limits));
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  const isLimited = resources.every((one) => QOS_COMPUTE_RESOURCES.every((name) => positive(one.limits, name) > 0n));
  const isEqual = requests.size === limits.size && [...requests].every(([name, sum]) => limits.get(name) === sum);
  return isLimited && isEqual ? "Guaranteed" : "Burstable";
}

/** Sums by resource; a resource that nobody asks for is absent. */
function sumOf(lists: readonly ResourceList[]): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const list of lists) {
    for (const name of QOS_COMPUTE_RESOURCES) {
      const amount = positive(list, name);
      if (amount > 0n) sums.set(name, (sums.get(name) ?? 0n) + amount);
    }
  }
  return sums;
}

function positive(list: ResourceList, name: string): bigint {
  const nanos = nanoValue(list[name]) ?? 0n;
  return nanos > 0n ? nanos : 0n;
}
