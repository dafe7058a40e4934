/**
 * Quantities such as `100m`, `1.5Gi` and `2e3`.
 * Mirrors k8s.io/apimachinery/pkg/api/resource/quantity.go.
 */

/** `{ cpu: "500m", memory: "1Gi" }` */
export type ResourceList = Readonly<Record<string, unknown>>;

/** The text is not a quantity; the message is upstream's. */
export class QuantityError extends Error {
  override readonly name = "QuantityError";
}

const FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX_WRONG = "unable to parse quantity's suffix";

const DECIMAL_SUFFIXES = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY_SUFFIXES = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

const NANO = -9;
const MILLI = -3;
const NANOS_PER_MILLI = 1_000_000n;
const NANOS_PER_UNIT = 1_000_000_000n;

/** Small whole numbers with a suffix are already canonical. Nearly all quantities are. */
const CANONICAL = /^(?:0|[1-9]\d{0,2}(?:m|k|M|G|T|Ki|Mi|Gi|Ti)?)$/;

type Format = "DecimalSI" | "DecimalExponent" | "BinarySI";

interface Parsed {
  /** value = mantissa * 10^scale */
  readonly mantissa: bigint;
  readonly scale: number;
  readonly format: Format;
  /** Upstream caches the text of such a quantity and prints it unchanged unless it rounds the value. */
  readonly keepsText: boolean;
}

/**
 * The stored form of a quantity in a resource list: canonical and rounded up to thousandths.
 * Mirrors SetDefaults_ResourceList in pkg/apis/core/v1/defaults.go. @throws QuantityError
 */
export function canonicalResourceQuantity(text: string): string {
  return CANONICAL.test(text) ? text : canonical(parseQuantity(text), MILLI);
}

/** The stored form of any other quantity: short texts stay as they are. @throws QuantityError */
export function storedQuantity(text: string): string {
  if (CANONICAL.test(text)) return text;
  const parsed = parseQuantity(text);
  return parsed.keepsText ? text.trim() : canonical(parsed, NANO);
}

/**
 * Canonical text in the largest unit that needs no fraction: `1024Mi` is `1Gi`, `0.5` is `500m`.
 * Mirrors CanonicalizeBytes. @returns undefined when it is not a quantity
 */
export function canonicalQuantity(quantity: unknown): string | undefined {
  const parsed = tryParse(quantity);
  return parsed === undefined ? undefined : canonical(parsed, NANO);
}

/** A whole number as a quantity in the API's canonical form; `bytes` in multiples of 1024: `100Mi`. Mirrors NewQuantity. */
export function quantityOf(value: number, unit: "bytes" | "count"): string {
  const format = unit === "bytes" ? "BinarySI" : "DecimalSI";
  return canonical({ mantissa: BigInt(Math.trunc(value)), scale: 0, format, keepsText: false }, NANO);
}

/** The sum in the format of the first amount that is not 0. Mirrors Quantity.Add. @throws QuantityError */
export function sumQuantities(amounts: readonly string[]): string {
  const first = parseQuantity(amounts.find((amount) => !isZeroQuantity(amount)) ?? "0");
  const mantissa = amounts.reduce((sum, amount) => sum + (nanoValue(amount) ?? 0n), 0n);
  return canonical({ ...first, mantissa, scale: NANO }, NANO);
}

/** `from - amount` in the format of `from`, at least 0. Mirrors Quantity.Sub. @throws QuantityError */
export function subtractQuantity(from: string, amount: string): string {
  const minuend = parseQuantity(from);
  const mantissa = atScale(minuend, NANO) - atScale(parseQuantity(amount), NANO);
  return canonical({ ...minuend, mantissa: mantissa > 0n ? mantissa : 0n, scale: NANO }, NANO);
}

/** Parsed amounts by text, because the API server compares each amount of a pod several times. */
const cachedNanos = new Map<string, bigint>();
const MAX_CACHED = 1024;

/** The value in billionths, rounded away from zero. @returns undefined when it is not a quantity */
export function nanoValue(quantity: unknown): bigint | undefined {
  const cached = typeof quantity === "string" ? cachedNanos.get(quantity) : undefined;
  if (cached !== undefined) return cached;
  const parsed = tryParse(quantity);
  if (parsed === undefined) return undefined;
  const nanos = atScale(parsed, NANO);
  if (typeof quantity !== "string") return nanos;
  if (cachedNanos.size >= MAX_CACHED) cachedNanos.clear();
  cachedNanos.set(quantity, nanos);
  return nanos;
}

/** In thousandths, rounded up; 0 when it is not a quantity. Mirrors Quantity.MilliValue. */
export function milliValue(quantity: unknown): number {
  return Number(divideUp(nanoValue(quantity) ?? 0n, NANOS_PER_MILLI));
}

/** In whole units, rounded up; 0 when it is not a quantity. Mirrors Quantity.Value. */
export function unitValue(quantity: unknown): number {
  return Number(divideUp(nanoValue(quantity) ?? 0n, NANOS_PER_UNIT));
}

/** Negative, 0 or positive, as a sort function; text that is not a quantity counts as 0. Mirrors Quantity.Cmp. */
export function compareQuantities(a: unknown, b: unknown): number {
  return signOf((nanoValue(a) ?? 0n) - (nanoValue(b) ?? 0n));
}

/** -1, 0 or 1; text that is not a quantity counts as 0. Mirrors Quantity.Sign. */
export function signOfQuantity(quantity: unknown): number {
  return signOf(nanoValue(quantity) ?? 0n);
}

/** Mirrors Quantity.IsZero; true for text that is not a quantity. */
export function isZeroQuantity(quantity: unknown): boolean {
  return signOfQuantity(quantity) === 0;
}

function signOf(nanos: bigint): number {
  return nanos < 0n ? -1 : nanos > 0n ? 1 : 0;
}

function tryParse(quantity: unknown): Parsed | undefined {
  if (typeof quantity !== "string" && typeof quantity !== "number") return undefined;
  try {
    return parseQuantity(String(quantity));
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

/** Mirrors ParseQuantity and parseQuantityString. */
function parseQuantity(untrimmed: string): Parsed {
  const text = untrimmed.trim();
  if (text === "") throw new QuantityError(FORMAT_WRONG);
  const [whole, sign = "", digits = "", decimals = "", suffix = ""] =
    /^([+-]?)(\d*)(?:\.(\d*))?((?:[eEinumkKMGTP]+[-+]?\d*|[-+]\d*)?)$/.exec(text) ?? [];
  if (whole === undefined) throw new QuantityError(FORMAT_WRONG);
  const { format, base10, base1024 } = readSuffix(suffix);
  const { magnitude, scale } = bounded(digits, decimals, base10);
  const scaled = magnitude * 1024n ** BigInt(base1024);
  return {
    mantissa: sign === "-" ? -scaled : scaled,
    scale,
    format,
    keepsText: format !== "BinarySI" ? digits.length + decimals.length <= 18 : decimals === "" && digits.length < 10,
  };
}

/** More digits than the largest quantity (2^63-1) has, on either side of the point. */
const MAX_DIGITS = 64;

/**
 * Parses magnitude * 10^scale, for numbers as long as a request body. A number that is too large becomes one just above
 * the limit, and one below the smallest unit becomes slightly more than 0, so that it is rounded up to that unit.
 */
function bounded(digits: string, decimals: string, base10: number): { magnitude: bigint; scale: number } {
  const all = `${digits}${decimals}`.replace(/^0+/, "");
  if (all === "") return { magnitude: 0n, scale: 0 };
  const scale = base10 - decimals.length;
  if (all.length + scale > MAX_DIGITS) return { magnitude: 1n, scale: MAX_DIGITS };
  if (scale >= -MAX_DIGITS) return { magnitude: BigInt(all), scale };
  const kept = all.slice(0, Math.max(0, all.length + scale + MAX_DIGITS));
  return { magnitude: BigInt(`0${kept}`) + 1n, scale: -MAX_DIGITS };
}

/** Mirrors suffixer.interpret in suffix.go. */
function readSuffix(suffix: string): { format: Format; base10: number; base1024: number } {
  const binary = BINARY_SUFFIXES.indexOf(suffix);
  if (binary > 0) return { format: "BinarySI", base10: 0, base1024: binary };
  const decimal = DECIMAL_SUFFIXES.indexOf(suffix);
  if (decimal >= 0) return { format: "DecimalSI", base10: (decimal - 3) * 3, base1024: 0 };
  if (/^[eE][-+]?\d+$/.test(suffix)) return { format: "DecimalExponent", base10: Number(suffix.slice(1)), base1024: 0 };
  throw new QuantityError(SUFFIX_WRONG);
}

/** The value in units of 10^scale, rounded away from zero. */
function atScale({ mantissa, scale: from }: Parsed, scale: number): bigint {
  if (from >= scale) return mantissa * 10n ** BigInt(from - scale);
  const divisor = 10n ** BigInt(scale - from);
  const quotient = mantissa / divisor;
  if (quotient * divisor === mantissa) return quotient;
  return mantissa < 0n ? quotient - 1n : quotient + 1n;
}

function canonical(parsed: Parsed, smallestScale: number): string {
  const value = atScale(parsed, smallestScale);
  if (value === 0n) return "0";
  const unit = 10n ** BigInt(-smallestScale);
  const magnitude = value < 0n ? -value : value;
  // Amounts below 1024 and fractions are printed in decimal, whatever the format.
  if (parsed.format === "BinarySI" && magnitude >= 1024n * unit && value % unit === 0n) {
    const [rest, power] = largestUnit(value / unit, 1024n, BINARY_SUFFIXES.length - 1);
    return `${rest}${BINARY_SUFFIXES[power]}`;
  }
  const [rest, power] = largestUnit(value, 1000n, (18 - smallestScale) / 3);
  const scale = smallestScale + 3 * power;
  if (parsed.format === "DecimalExponent") return scale === 0 ? `${rest}` : `${rest}e${scale}`;
  return `${rest}${DECIMAL_SUFFIXES[scale / 3 + 3]}`;
}

function largestUnit(amount: bigint, base: bigint, maxPower: number): [rest: bigint, power: number] {
  let rest = amount;
  let power = 0;
  for (; power < maxPower && rest % base === 0n; power++) rest /= base;
  return [rest, power];
}

/** Rounds towards positive infinity, also for negative numbers. */
function divideUp(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  return value > 0n && quotient * divisor !== value ? quotient + 1n : quotient;
}
