import type { KubeObject } from "../../../../api/meta.js";
import { fields, items } from "../access.js";
import { signOfQuantity, sumQuantities } from "../quantity.js";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

/** Only these decide; other resources do not matter for the class. */
const QOS_RESOURCES = ["cpu", "memory"];

/**
 * Guaranteed: every container limits cpu and memory, and requests are equal to the limits. BestEffort: nobody asks for
 * anything. Mirrors pkg/apis/core/v1/helper/qos/qos.go (ComputePodQOS).
 */
export function podQosClass(pod: KubeObject): QosClass {
  const spec = fields(pod.spec);
  const resources = [...items(spec.containers), ...items(spec.initContainers)].map((one) =>
    fields(fields(one).resources),
  );
  const requests = amounts(resources.map((one) => fields(one.requests)));
  const limits = amounts(resources.map((one) => fields(one.limits)));
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  const isLimited = resources.every((one) => QOS_RESOURCES.every((name) => isPositive(fields(one.limits)[name])));
  const isEqual = [...requests].every(([name, amount]) => limits.get(name) === amount) && requests.size === limits.size;
  return isLimited && isEqual ? "Guaranteed" : "Burstable";
}

function isPositive(quantity: unknown): boolean {
  return signOfQuantity(quantity) > 0;
}

/** Sums by resource; resources that nobody asks for are absent. */
function amounts(lists: readonly Readonly<Record<string, unknown>>[]): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const name of QOS_RESOURCES) {
    const asked = lists.map((list) => list[name]).filter(isPositive);
    if (asked.length > 0) sums.set(name, sumQuantities(asked));
  }
  return sums;
}
