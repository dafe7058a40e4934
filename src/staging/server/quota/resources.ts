import {
  compareQuantities,
  isZeroQuantity,
  signOfQuantity,
  subtractQuantity,
  sumQuantities,
} from "../../apimachinery/quantity.js";

/** Amounts by resource. Mirrors k8s.io/apiserver/pkg/quota/v1/resources.go. */
export type Amounts = Readonly<Record<string, string>>;

/** Mirrors Equals: amounts in other units are the same. */
export function sameAmounts(a: Amounts, b: Amounts): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => b[name] !== undefined && compareQuantities(a[name], b[name]) === 0);
}

/** Mirrors Add. */
export function addAmounts(a: Amounts, b: Amounts): Record<string, string> {
  const sum: Record<string, string> = { ...a };
  for (const [name, amount] of Object.entries(b)) {
    const before = sum[name];
    sum[name] = before === undefined ? amount : sumQuantities([before, amount]);
  }
  return sum;
}

/** Mirrors Max. */
export function maxOf(a: Amounts, b: Amounts): Record<string, string> {
  const most: Record<string, string> = { ...a };
  for (const [name, amount] of Object.entries(b)) {
    if (most[name] === undefined || compareQuantities(amount, most[name]) > 0) most[name] = amount;
  }
  return most;
}

/** `a - b`, never less than 0. Mirrors SubtractWithNonNegativeResult. */
export function subtractAmounts(a: Amounts, b: Amounts): Record<string, string> {
  const zeros = Object.fromEntries(Object.keys(b).map((name) => [name, "0"]));
  const rest = Object.entries(a).map(([name, amount]) => [name, subtractQuantity(amount, b[name] ?? "0")]);
  return { ...zeros, ...Object.fromEntries(rest) };
}

/** Only these resources. Mirrors Mask. */
export function maskAmounts(amounts: Amounts, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(amounts).filter(([name]) => names.includes(name)));
}

/** Mirrors RemoveZeros. */
export function removeZeros(amounts: Amounts): Record<string, string> {
  return Object.fromEntries(Object.entries(amounts).filter(([, amount]) => !isZeroQuantity(amount)));
}

/** The names of the resources of which `amounts` has more than `limits`. Mirrors LessThanOrEqual. */
export function exceededIn(amounts: Amounts, limits: Amounts): string[] {
  const isExceeded = (name: string) => limits[name] !== undefined && compareQuantities(amounts[name], limits[name]) > 0;
  return Object.keys(amounts).filter(isExceeded);
}

/** The names of the resources with a negative amount. Mirrors IsNegative. */
export function negativeIn(amounts: Amounts): string[] {
  return Object.keys(amounts).filter((name) => signOfQuantity(amounts[name]) < 0);
}
