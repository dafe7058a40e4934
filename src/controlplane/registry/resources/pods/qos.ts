import type { KubeObject } from "../../../../apimachinery/api/meta.js";
import { type Fields, fields, items } from "../access.js";
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
  const isLimited = resources.every((one) => asksForAll(one.limits));
  if (!isLimited) return resources.some((one) => asksForSome(one)) ? "Burstable" : "BestEffort";
  if (resources.length === 0) return "BestEffort";
  const isEqual = QOS_RESOURCES.every(
    (name) => total(resources, "requests", name) === total(resources, "limits", name),
  );
  return isEqual ? "Guaranteed" : "Burstable";
}

function asksForAll(amounts: unknown): boolean {
  const list = fields(amounts);
  return QOS_RESOURCES.every((name) => isPositive(list[name]));
}

function asksForSome({ requests, limits }: Fields): boolean {
  return QOS_RESOURCES.some((name) => isPositive(fields(requests)[name]) || isPositive(fields(limits)[name]));
}

function isPositive(quantity: unknown): boolean {
  return signOfQuantity(quantity) > 0;
}

/** Of all containers together; 0 where nobody asks. */
function total(resources: readonly Fields[], kind: "requests" | "limits", name: string): bigint {
  return sumQuantities(resources.map((one) => fields(one[kind])[name]).filter(isPositive));
}
