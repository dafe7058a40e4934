import { nanoValue } from "../../util/quantity.js";

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/** Billionths in one. */
const NANO = 1_000_000_000n;

/**
 * An amount as Go writes it, in the largest unit that needs no fraction: `1024Mi` is `1Gi`, `0.5` is `500m`.
 *
 * Mirrors k8s.io/apimachinery/pkg/api/resource/quantity.go (CanonicalizeBytes). Pure.
 * @returns undefined for what is no quantity
 */
export function canonicalQuantity(quantity: unknown): string | undefined {
  const nanos = nanoValue(quantity);
  if (nanos === undefined || nanos === 0n) return nanos === undefined ? undefined : "0";
  const text = String(quantity);
  const sign = nanos < 0n ? "-" : "";
  const amount = nanos < 0n ? -nanos : nanos;
  // Small amounts, and parts of one, are written in decimals whatever they came as.
  if (text.endsWith("i") && amount >= 1024n * NANO && amount % NANO === 0n) {
    const [rest, unit] = largestUnit(amount / NANO, 1024n, BINARY.length);
    return `${sign}${rest}${BINARY[unit]}`;
  }
  const [rest, unit] = largestUnit(amount, 1000n, DECIMAL.length);
  const exponent = (unit - 3) * 3;
  const isExponent = /[eE][+-]?\d+$/.test(text) && exponent !== 0;
  return `${sign}${rest}${isExponent ? `e${exponent}` : DECIMAL[unit]}`;
}

function largestUnit(amount: bigint, base: bigint, unitCount: number): [rest: bigint, unit: number] {
  let rest = amount;
  let unit = 0;
  while (rest % base === 0n && unit < unitCount - 1) {
    rest /= base;
    unit++;
  }
  return [rest, unit];
}
