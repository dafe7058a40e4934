/**
 * Amounts as the API writes them: `500m`, `1.5Gi`, `2e3`.
 * Mirrors k8s.io/apimachinery/pkg/api/resource/quantity.go.
 */

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/** Everything is counted in billionths: the smallest amount that a quantity can say. */
const NANO = 1_000_000_000n;

export interface Quantity {
  /** billionths */
  readonly nanos: bigint;
  readonly form: "binary" | "decimal" | "exponent";
}

export const ZERO: Quantity = { nanos: 0n, form: "decimal" };

/** @returns undefined for what is no quantity; parts of a billionth are rounded up, away from zero */
export function parseQuantity(value: unknown): Quantity | undefined {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string") return undefined;
  const match = /^([+-]?)(\d{0,18})(?:\.(\d{0,18}))?([A-Za-z]{0,2}|[eE][+-]?\d{1,2})$/.exec(text);
  const [, sign, whole = "", fraction = "", suffix = ""] = match ?? [];
  if (match === null || whole + fraction === "") return undefined;
  const scale = scaleOf(suffix);
  if (scale === undefined) return undefined;
  const numerator = BigInt(whole + fraction) * scale.nanos;
  const nanos = ceilDiv(numerator, 10n ** BigInt(fraction.length) * scale.divisor);
  return { nanos: sign === "-" ? -nanos : nanos, form: scale.form };
}

function scaleOf(suffix: string): (Quantity & { readonly divisor: bigint }) | undefined {
  const binary = BINARY.indexOf(suffix);
  if (binary > 0) return { nanos: NANO * 1024n ** BigInt(binary), divisor: 1n, form: "binary" };
  const decimal = DECIMAL.indexOf(suffix);
  if (decimal >= 0) return { nanos: 1000n ** BigInt(decimal), divisor: 1n, form: "decimal" };
  if (!/^[eE][+-]?\d+$/.test(suffix)) return undefined;
  const exponent = Number(suffix.slice(1));
  const factor = 10n ** BigInt(Math.abs(exponent));
  return exponent < 0
    ? { nanos: NANO, divisor: factor, form: "exponent" }
    : { nanos: NANO * factor, divisor: 1n, form: "exponent" };
}

/** Whole units, rounded up. Mirrors Quantity.Value. */
export function wholeUnits({ nanos }: Quantity): bigint {
  return ceilDiv(nanos, NANO);
}

/** Thousandths, rounded up. Mirrors Quantity.MilliValue. */
export function milliUnits({ nanos }: Quantity): bigint {
  return ceilDiv(nanos, NANO / 1000n);
}

/** As Go writes it: the largest unit that needs no fraction. Mirrors CanonicalizeBytes. */
export function canonicalQuantity({ nanos, form }: Quantity): string {
  if (nanos === 0n) return "0";
  const sign = nanos < 0n ? "-" : "";
  const amount = nanos < 0n ? -nanos : nanos;
  const isBinary = form === "binary" && amount >= 1024n * NANO && amount % NANO === 0n;
  if (isBinary) {
    const [rest, unit] = largestUnit(amount / NANO, 1024n, BINARY.length);
    return `${sign}${rest}${BINARY[unit]}`;
  }
  const [rest, unit] = largestUnit(amount, 1000n, DECIMAL.length);
  const exponent = (unit - 3) * 3;
  return `${sign}${rest}${form === "exponent" && exponent !== 0 ? `e${exponent}` : DECIMAL[unit]}`;
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

function ceilDiv(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  if (a % b === 0n) return quotient;
  return a > 0n === b > 0n ? quotient + 1n : quotient;
}
