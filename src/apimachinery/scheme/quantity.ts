/**
 * Quantities such as `100m`, `1.5Gi` and `2e3`.
 * Mirrors k8s.io/apimachinery/pkg/api/resource/quantity.go (ParseQuantity, CanonicalizeBytes, RoundUp).
 */

/** A text that is no quantity, in upstream's words. */
export class QuantityError extends Error {
  override readonly name = "QuantityError";
}

const FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX_WRONG = "unable to parse quantity's suffix";

const DECIMAL_SUFFIXES = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY_SUFFIXES = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** Small whole numbers with a suffix are canonical as they are: nearly all there is. */
const CANONICAL = /^(?:0|[1-9]\d{0,2}(?:m|k|M|G|T|Ki|Mi|Gi|Ti)?)$/;

type Format = "DecimalSI" | "DecimalExponent" | "BinarySI";

interface Parsed {
  /** value = mantissa * 10^scale */
  readonly mantissa: bigint;
  readonly scale: number;
  readonly format: Format;
  /** upstream remembers the text of such a quantity and shows it again, unless somebody rounds it */
  readonly keepsText: boolean;
}

/**
 * What the server makes of a quantity in a resource list: rounded up to thousandths, in canonical form.
 * Mirrors SetDefaults_ResourceList in pkg/apis/core/v1/defaults.go. @throws QuantityError
 */
export function canonicalResourceQuantity(text: string): string {
  return CANONICAL.test(text) ? text : canonical(parseQuantity(text), -3);
}

/** What the server makes of any other quantity: mostly the text as it was. @throws QuantityError */
export function canonicalQuantity(text: string): string {
  if (CANONICAL.test(text)) return text;
  const parsed = parseQuantity(text);
  return parsed.keepsText ? text.trim() : canonical(parsed, -9);
}

function parseQuantity(untrimmed: string): Parsed {
  const text = untrimmed.trim();
  if (text === "") throw new QuantityError(FORMAT_WRONG);
  const [whole, sign = "", digits = "", decimals = "", suffix = ""] =
    /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/.exec(text) ?? [];
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

/** Far more digits than the greatest quantity (2^63-1) has, before and behind the point. */
const MAX_DIGITS = 64;

/**
 * magnitude * 10^scale, for numbers as long as a body may be: what is beyond all bounds becomes just too large, and what is
 * finer than the finest unit just more than nothing, which is rounded up to it.
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
  let value = atScale(parsed, smallestScale);
  if (value === 0n) return "0";
  const unit = 10n ** BigInt(-smallestScale);
  const magnitude = value < 0n ? -value : value;
  if (parsed.format === "BinarySI" && magnitude >= 1024n * unit) {
    let whole = atScale({ ...parsed, mantissa: value, scale: smallestScale }, 0);
    let power = 0;
    for (; power < BINARY_SUFFIXES.length - 1 && whole % 1024n === 0n; power++) whole /= 1024n;
    return `${whole}${BINARY_SUFFIXES[power]}`;
  }
  let scale = smallestScale;
  for (; value % 1000n === 0n && scale < 18; scale += 3) value /= 1000n;
  if (parsed.format === "DecimalExponent") return scale === 0 ? `${value}` : `${value}e${scale}`;
  return `${value}${DECIMAL_SUFFIXES[scale / 3 + 3]}`;
}
