import { BINARY_SHIFTS, DECIMAL_EXPONENTS, QUANTITY } from "../../../util/quantity.js";

/** A quantity as Go has it in memory, which says more than its amount: two ways of writing 1 are not the same. */
export interface GoQuantity {
  /** value * 10^scale, when `dec` is undefined; else both are 0 */
  readonly value: bigint;
  readonly scale: number;
  /** unscaled / 10^scale: what does not fit into 64 bits, or is no whole number of a binary unit */
  readonly dec: { readonly unscaled: bigint; readonly scale: number } | undefined;
  /** as it was written, where that is short; "" elsewhere */
  readonly text: string;
  readonly format: "" | "DecimalSI" | "DecimalExponent" | "BinarySI";
}

const ZERO: GoQuantity = { value: 0n, scale: 0, dec: undefined, text: "", format: "" };
const MAX_INT64 = 2n ** 63n - 1n;
/** So many decimal digits fit into 64 bits in any case; of a binary amount fewer are taken. */
const MAX_DIGITS = 18;
const MAX_BINARY_DIGITS = 15;
const NANO = -9;
const MILLI = -3;
/** Far more than any quantity has. */
const MAX_EXPONENT = 100;

/**
 * What Go makes of a quantity in JSON.
 *
 * Mirrors k8s.io/apimachinery/pkg/api/resource/quantity.go (ParseQuantity, UnmarshalJSON, RoundUp). Pure.
 *
 * @param precision `milli`: rounded up to thousandths afterwards, as the amounts of a resource list are
 * @returns undefined when it is no quantity
 */
export function goQuantity(given: unknown, precision?: "milli"): GoQuantity | undefined {
  if (given === undefined || given === null) return ZERO;
  if (typeof given !== "string" && typeof given !== "number") return undefined;
  const text = String(given).trim();
  if (text === "0") return { ...ZERO, text, format: "DecimalSI" };
  const [whole, sign = "", number = "", decimals = "", suffix = "", exponent] = QUANTITY.exec(text) ?? [];
  if (whole === undefined || !/\d/.test(text) || Math.abs(Number(exponent ?? 0)) > MAX_EXPONENT) return undefined;
  const shift = BINARY_SHIFTS[suffix];
  const format = shift !== undefined ? "BinarySI" : exponent !== undefined ? "DecimalExponent" : "DecimalSI";
  const digits = number.replace(/^0+/, "") || "0";
  const written = { isNegative: sign === "-", digits, decimals, format, text } as const;
  const tens = exponent === undefined ? (DECIMAL_EXPONENTS[suffix] ?? 0) : Number(exponent);
  const quantity = fast(written, tens, shift) ?? slow(written, tens, shift ?? 0);
  return precision === "milli" ? roundUp(quantity) : quantity;
}

interface Written {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly decimals: string;
  readonly format: Exclude<GoQuantity["format"], "">;
  readonly text: string;
}

/** Into 64 bits. @returns undefined when it may not fit */
function fast(written: Written, tens: number, shift: number | undefined): GoQuantity | undefined {
  const { digits, decimals, format } = written;
  const scale = tens - decimals.length;
  const room =
    shift === undefined
      ? MAX_DIGITS - digits.length - decimals.length
      : MAX_BINARY_DIGITS - digits.length - Math.floor((shift * 3) / 10) - 1;
  if (room < 0 || scale < NANO || (shift !== undefined && decimals !== "")) return undefined;
  const shifted = digits + decimals;
  const magnitude = BigInt(shifted);
  const value = magnitude << BigInt(shift ?? 0);
  if (value > MAX_INT64) return undefined;
  // Upstream takes these for written as it would write them itself, and keeps the text.
  const isShort =
    shift === undefined
      ? scale % 3 === 0 && !shifted.endsWith("000") && !shifted.startsWith("0")
      : (magnitude & 7n) !== 0n;
  return {
    value: written.isNegative ? -value : value,
    scale,
    dec: undefined,
    text: isShort ? written.text : "",
    format,
  };
}

/** A decimal of any length, to billionths. */
function slow({ isNegative, digits, decimals, format }: Written, tens: number, shift: number): GoQuantity {
  const unscaled = BigInt(digits + decimals) << BigInt(shift);
  const places = decimals.length - tens;
  const nanos = unscaled === 0n ? 0n : rescaled(unscaled, places, -NANO);
  const isBinary = format === "BinarySI";
  const capped = isBinary && nanos > MAX_INT64 * 10n ** 9n ? { unscaled: MAX_INT64, scale: 0 } : undefined;
  const dec = capped ?? (unscaled === 0n ? { unscaled, scale: places } : { unscaled: nanos, scale: -NANO });
  const isBelowOne = isBinary && nanos > 0n && nanos < 10n ** 9n;
  const signed = { ...dec, unscaled: isNegative ? -dec.unscaled : dec.unscaled };
  return { ...ZERO, dec: signed, format: isBelowOne ? "DecimalSI" : format };
}

function roundUp(quantity: GoQuantity): GoQuantity {
  const { dec, value, scale } = quantity;
  if (dec !== undefined) {
    const unscaled = rescaled(dec.unscaled, dec.scale, -MILLI);
    return { ...quantity, text: "", dec: { unscaled, scale: -MILLI } };
  }
  if (scale >= MILLI) return quantity;
  return { ...quantity, text: "", value: rescaled(value, -scale, -MILLI), scale: MILLI };
}

/** A number of decimal places for another, away from zero where there are fewer. */
function rescaled(unscaled: bigint, places: number, wanted: number): bigint {
  if (wanted >= places) return unscaled * 10n ** BigInt(wanted - places);
  const divisor = 10n ** BigInt(places - wanted);
  const magnitude = ((unscaled < 0n ? -unscaled : unscaled) + divisor - 1n) / divisor;
  return unscaled < 0n ? -magnitude : magnitude;
}
