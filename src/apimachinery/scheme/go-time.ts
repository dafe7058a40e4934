import { goQuote } from "./go-text.js";

/** The two layouts of times in the API, as Go's errors spell them. */
export const RFC3339 = "2006-01-02T15:04:05Z07:00";
export const RFC3339_MICRO = "2006-01-02T15:04:05.000000Z07:00";

const PLAIN_SECONDS = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;
const PLAIN_MICRO = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/;
/** Go's zero time: `null` in JSON. */
const ZERO = "0001-01-01T00:00:00";

/** A text that is no time, in Go's words. */
export class GoTimeError extends Error {
  override readonly name = "GoTimeError";
}

/**
 * The canonical form of a time in a request: UTC, whole seconds (or six decimals); null for Go's zero time.
 * Mirrors UnmarshalJSON and MarshalJSON of Time and MicroTime in k8s.io/apimachinery/pkg/apis/meta/v1.
 * @throws GoTimeError
 */
export function canonicalTime(text: string, layout: typeof RFC3339 | typeof RFC3339_MICRO): string | null {
  const plain = layout === RFC3339 ? PLAIN_SECONDS : PLAIN_MICRO;
  const canonical = plain.test(text) ? text : rewrite(text, layout);
  return canonical.startsWith(ZERO) && /^0*Z$/.test(canonical.slice(ZERO.length).replace(".", "")) ? null : canonical;
}

/** Mirrors parse in Go's time/format.go for these two layouts: the same checks in the same order. */
function rewrite(text: string, layout: string): string {
  const reader = new LayoutReader(text, layout);
  const year = reader.year();
  reader.literal("-");
  const month = reader.number("01", 2, 2, "month", 1, 12);
  reader.literal("-");
  const day = reader.number("02", 2, 2);
  reader.literal("T");
  const hour = reader.number("15", 1, 2, "hour", 0, 23);
  reader.literal(":");
  const minute = reader.number("04", 2, 2, "minute", 0, 59);
  reader.literal(":");
  const second = reader.number("05", 2, 2, "second", 0, 59);
  const micros = layout === RFC3339_MICRO ? reader.micros() : reader.skipFraction();
  const offsetMinutes = reader.zone();
  reader.end();
  const date = new Date(0);
  date.setUTCFullYear(year, month, 0);
  if (day < 1 || day > date.getUTCDate()) reader.fail(`: day out of range`);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute - offsetMinutes, second, 0);
  const seconds = date.toISOString().slice(0, 19);
  return layout === RFC3339_MICRO ? `${seconds}.${micros}Z` : `${seconds}Z`;
}

class LayoutReader {
  #rest: string;
  constructor(
    readonly text: string,
    readonly layout: string,
  ) {
    this.#rest = text;
  }

  fail(message: string): never {
    throw new GoTimeError(`parsing time ${goQuote(this.text)}${message}`);
  }

  #cannot(element: string): never {
    this.fail(` as ${goQuote(this.layout)}: cannot parse ${goQuote(this.#rest)} as ${goQuote(element)}`);
  }

  literal(expected: string): void {
    if (!this.#rest.startsWith(expected)) this.#cannot(expected);
    this.#rest = this.#rest.slice(expected.length);
  }

  number(element: string, minDigits: number, maxDigits: number, range = "", low = 0, high = 9999): number {
    const digits = /^\d*/.exec(this.#rest.slice(0, maxDigits))?.[0] ?? "";
    if (digits.length < minDigits) this.#cannot(element);
    const value = Number(digits);
    if (value < low || value > high) this.fail(`: ${range} out of range`);
    this.#rest = this.#rest.slice(digits.length);
    return value;
  }

  /** Go has stepped over the digits before it finds that they are none: the message shows what follows them. */
  #digits(start: number, end: number, element: string, fullLength: number): number {
    const text = this.#rest.slice(start, end);
    this.#rest = this.#rest.slice(fullLength);
    if (!/^[+-]?\d+$/.test(text)) this.#cannot(element);
    return Number(text);
  }

  year(): number {
    if (!/^\d.{3}/s.test(this.#rest)) this.#cannot("2006");
    return this.#digits(0, 4, "2006", 4);
  }

  micros(): string {
    if (this.#rest.length < 7) this.#cannot(".000000");
    const hasPoint = /^[.,]/.test(this.#rest);
    const micros = this.#digits(hasPoint ? 1 : 0, 7, ".000000", 7);
    if (!hasPoint) this.#cannot(".000000");
    if (micros < 0) this.fail(": fractional second out of range");
    return String(micros).padStart(6, "0");
  }

  /** A fraction that the layout does not have is read and forgotten. */
  skipFraction(): string {
    this.#rest = this.#rest.replace(/^[.,]\d+/, "");
    return "";
  }

  zone(): number {
    if (this.#rest.startsWith("Z")) {
      this.#rest = this.#rest.slice(1);
      return 0;
    }
    if (this.#rest.length < 6 || this.#rest[3] !== ":") this.#cannot("Z07:00");
    const zone = this.#rest;
    const hours = this.#digits(1, 3, "Z07:00", 6);
    if (!/^[+-]/.test(zone) || !/^[+-]?\d+$/.test(zone.slice(4, 6))) this.#cannot("Z07:00");
    return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + Number(zone.slice(4, 6)));
  }

  end(): void {
    if (this.#rest !== "") this.fail(`: extra text: ${goQuote(this.#rest)}`);
  }
}
