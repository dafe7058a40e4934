import { nanoValue as parseNanoValue } from "../../../util/quantity.js";

/** Resource quantities as exact numbers. Mirrors k8s.io/apimachinery/pkg/api/resource/quantity.go, for comparing only. */

/** Amounts repeat, and each of a pod's is compared several times. */
const known = new Map<string, bigint>();
const MAX_KNOWN = 1024;

/** @returns billionths; undefined when the text is no quantity */
export function nanoValue(quantity: unknown): bigint | undefined {
  if (typeof quantity !== "string" && typeof quantity !== "number") return undefined;
  const text = String(quantity);
  const before = known.get(text);
  if (before !== undefined) return before;
  const nanos = parseNanoValue(text);
  if (nanos === undefined) return nanos;
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(text, nanos);
  return nanos;
}

/** Negative, 0 or positive, as a sort function; text that is no quantity counts as 0. */
export function compareQuantities(a: unknown, b: unknown): number {
  const difference = (nanoValue(a) ?? 0n) - (nanoValue(b) ?? 0n);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Negative, 0 or positive; text that is no quantity counts as 0. */
export function signOfQuantity(quantity: unknown): number {
  const nanos = nanoValue(quantity) ?? 0n;
  return nanos < 0n ? -1 : nanos > 0n ? 1 : 0;
}

export function sumQuantities(quantities: readonly unknown[]): bigint {
  return quantities.reduce<bigint>((sum, one) => sum + (nanoValue(one) ?? 0n), 0n);
}
