/** Sign, whole part, fraction, suffix, decimal exponent. Mirrors parseQuantityString. */
const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d+))?$/;
/** `m`: 10^-3. Mirrors newSuffixer in k8s.io/apimachinery/pkg/api/resource/suffix.go. */
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
/** `Ki`: 2^10. */
const BINARY_SHIFTS: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
/** 10^-9 is the finest unit that a quantity can hold. */
const NANO_DIGITS = 9;
/** Far more than any quantity has: what is longer is none. */
const MAX_DIGITS = 256;

/**
 * A resource quantity as an exact number: `1`, `"500m"`, `"1Gi"`. Pure. What is finer than the finest unit is rounded away
 * from zero.
 * Mirrors k8s.io/apimachinery/pkg/api/resource/quantity.go (ParseQuantity).
 * @returns billionths; undefined when it is no quantity
 */
export function nanoValue(quantity: unknown): bigint | undefined {
  if (typeof quantity !== "string" && typeof quantity !== "number") return undefined;
  const text = String(quantity);
  const match = text.length > MAX_DIGITS ? null : QUANTITY.exec(text);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", suffix = "", exponent = "0"] = match;
  if (whole + fraction === "") return undefined;
  const scale = (DECIMAL_EXPONENTS[suffix] ?? 0) + Number(exponent) + NANO_DIGITS - fraction.length;
  if (Math.abs(scale) + whole.length + fraction.length > MAX_DIGITS) return undefined;
  const digits = BigInt(whole + fraction) << BigInt(BINARY_SHIFTS[suffix] ?? 0);
  const nanos = scale >= 0 ? digits * 10n ** BigInt(scale) : divideUp(digits, 10n ** BigInt(-scale));
  return sign === "-" ? -nanos : nanos;
}

/** Towards greater numbers, also below zero. */
export function divideUp(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value > 0n && quotient * divisor !== value ? quotient + 1n : quotient;
}
