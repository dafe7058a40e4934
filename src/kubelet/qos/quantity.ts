import { divideUp, nanoValue } from "../../util/quantity.js";

/** Amounts of resources, as the kubelet calculates with them. Mirrors k8s.io/apimachinery/pkg/api/resource/quantity.go. Pure. */

/** `{ cpu: "500m", memory: "1Gi" }` */
export type ResourceList = Readonly<Record<string, unknown>>;

const NANOS_PER_MILLI = 1_000_000n;
const NANOS_PER_UNIT = 1_000_000_000n;

/** In thousandths, rounded up; what is no quantity counts as nothing. Mirrors Quantity.MilliValue. */
export function milliValue(quantity: unknown): number {
  return Number(divideUp(nanoValue(quantity) ?? 0n, NANOS_PER_MILLI));
}

/** In whole units, rounded up; what is no quantity counts as nothing. Mirrors Quantity.Value. */
export function unitValue(quantity: unknown): number {
  return Number(divideUp(nanoValue(quantity) ?? 0n, NANOS_PER_UNIT));
}

/** cpu in thousandths, everything else in whole units: as the scheduler and the kubelet count. */
export function amountOf(resource: string, quantity: unknown): number {
  return resource === "cpu" ? milliValue(quantity) : unitValue(quantity);
}

/** Mirrors Quantity.IsZero and what is not there at all. */
export function isZero(quantity: unknown): boolean {
  return (nanoValue(quantity) ?? 0n) === 0n;
}
