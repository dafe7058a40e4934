import { nanoValue, type ResourceList } from "../quantity.js";
import { resourcesOf } from "./container-resources.js";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

/** Other resources do not change the class. */
const QOS_COMPUTE_RESOURCES = ["cpu", "memory"];

type Containers = readonly object[] | null | undefined;

/**
 * The quality of service class of a pod. Guaranteed: every container limits cpu and memory, and the requests equal the
 * limits. BestEffort: no container requests or limits anything. Burstable: all other pods. Pure.
 *
 * Mirrors pkg/apis/core/v1/helper/qos/qos.go (GetPodQOS).
 */
export function getPodQos(spec: { readonly containers?: Containers; readonly initContainers?: Containers }): QosClass {
  const resources = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(resourcesOf);
  const requests = sumOf(resources.map((one) => one.requests));
  const limits = sumOf(resources.map((one) => one.limits));
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  const isLimited = resources.every((one) => QOS_COMPUTE_RESOURCES.every((name) => positive(one.limits, name) > 0n));
  const isEqual = requests.size === limits.size && [...requests].every(([name, sum]) => limits.get(name) === sum);
  return isLimited && isEqual ? "Guaranteed" : "Burstable";
}

/** Sums by resource; resources that no container lists are absent. */
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
