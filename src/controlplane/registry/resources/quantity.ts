/** Resource quantities as exact numbers. Mirrors k8s.io/apimachinery/pkg/api/resource/quantity.go, for comparing only. */

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d+))?$/;

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

/** Far more than any quantity has. */
const MAX_DIGITS = 256;

/** Amounts repeat, and each of a pod's is compared several times. */
const known = new Map<string, bigint>();
const MAX_KNOWN = 1024;

/** @returns billionths; undefined when the text is no quantity */
export function nanoValue(quantity: unknown): bigint | undefined {
  if (typeof quantity !== "string" && typeof quantity !== "number") return undefined;
  const text = String(quantity);
  const before = known.get(text);
  if (before !== undefined) return before;
  const nanos = parse(text);
  if (nanos === undefined || text.length > MAX_DIGITS) return nanos;
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(text, nanos);
  return nanos;
}

function parse(text: string): bigint | undefined {
  const match = QUANTITY.exec(text);
  const [, sign = "", whole = "", fraction = "", suffix = "", exponent = "0"] = match ?? [];
  if (match === null || whole + fraction === "") return undefined;
  const binaryShift = BINARY_SHIFTS[suffix] ?? 0;
  const decimalExponent = (DECIMAL_EXPONENTS[suffix] ?? 0) + Number(exponent) + NANO_DIGITS - fraction.length;
  // The schema has cut what is longer: such a quantity cannot come from a request.
  if (Math.abs(decimalExponent) + whole.length + fraction.length > MAX_DIGITS) return undefined;
  const digits = BigInt(whole + fraction) << BigInt(binaryShift);
  const scaled =
    decimalExponent >= 0 ? digits * 10n ** BigInt(decimalExponent) : roundUp(digits, 10n ** BigInt(-decimalExponent));
  return sign === "-" ? -scaled : scaled;
}

/** What is finer than the finest unit is rounded away from zero. */
function roundUp(value: bigint, divisor: bigint): bigint {
  return (value + divisor - 1n) / divisor;
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
