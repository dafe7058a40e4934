/** Amounts of resources, as the kubelet calculates with them. Mirrors k8s.io/apimachinery/pkg/api/resource/quantity.go. Pure. */

/** `{ cpu: "500m", memory: "1Gi" }` */
export type ResourceList = Readonly<Record<string, unknown>>;

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?$/;
const DECIMAL_EXPONENTS: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY_SHIFTS: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
/** 10^-9 is the finest unit that a quantity can hold. */
const NANO_DIGITS = 9;
/** Far more than any quantity has: what is longer is none. */
const MAX_LENGTH = 256;
const NANOS_PER_MILLI = 1_000_000n;
const NANOS_PER_UNIT = 1_000_000_000n;

/** @returns billionths; undefined when it is no quantity */
export function nanoValue(quantity: unknown): bigint | undefined {
  if (typeof quantity !== "string" && typeof quantity !== "number") return undefined;
  const text = String(quantity);
  const match = text.length > MAX_LENGTH ? null : QUANTITY.exec(text);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", suffix = "", exponent = "0"] = match;
  if (whole + fraction === "") return undefined;
  const scale = (DECIMAL_EXPONENTS[suffix] ?? 0) + Number(exponent) + NANO_DIGITS - fraction.length;
  const digits = BigInt(whole + fraction) << BigInt(BINARY_SHIFTS[suffix] ?? 0);
  const nanos = scale >= 0 ? digits * 10n ** BigInt(scale) : divideUp(digits, 10n ** BigInt(-scale));
  return sign === "-" ? -nanos : nanos;
}

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

/** Towards greater numbers, also below zero. */
export function divideUp(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value > 0n && quotient * divisor !== value ? quotient + 1n : quotient;
}
