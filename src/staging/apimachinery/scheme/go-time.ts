import { goQuote } from "./go-text.js";

/** The two time layouts of the API, as in Go's errors. */
export const RFC3339 = "2006-01-02T15:04:05Z07:00";
export const RFC3339_MICRO = "2006-01-02T15:04:05.000000Z07:00";

const PLAIN_SECONDS = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;
const PLAIN_MICRO = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/;
/** Go's zero time: `null` in JSON. */
const ZERO = /^0001-01-01T00:00:00(?:\.0+)?Z$/;

/** The text is not a valid time; the message is Go's. */
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
  return canonical.startsWith("0001") && ZERO.test(canonical) ? null : canonical;
}

const SECONDS = /^\d\d/;
/** A fraction that the layout does not contain is read and dropped. */
const SECONDS_AND_FRACTION = /^\d\d(?:[.,]\d+)?/;

/** The elements of a layout in order, each with the pattern of its text. */
function elementsOf(layout: string): readonly (readonly [name: string, pattern: RegExp])[] {
  const micros = [[".000000", /^[.,]\d{6}/]] as const;
  return [
    ["2006", /^\d{4}/],
    ["-", /^-/],
    ["01", /^\d\d/],
    ["-", /^-/],
    ["02", /^\d\d/],
    ["T", /^T/],
    ["15", /^\d\d/],
    [":", /^:/],
    ["04", /^\d\d/],
    [":", /^:/],
    ["05", layout === RFC3339_MICRO ? SECONDS : SECONDS_AND_FRACTION],
    ...(layout === RFC3339_MICRO ? micros : []),
    ["Z07:00", /^(?:Z|[+-]\d\d:\d\d)/],
  ];
}

/**
 * Mirrors parse in Go's time/format.go for these two layouts.
 * Differs: hours have two digits; one message for all elements that are out of range.
 */
function rewrite(text: string, layout: string): string {
  const fail = (problem: string) => new GoTimeError(`parsing time ${goQuote(text)}${problem}`);
  let rest = text;
  for (const [name, pattern] of elementsOf(layout)) {
    const found = pattern.exec(rest)?.[0];
    if (found === undefined) {
      throw fail(` as ${goQuote(layout)}: cannot parse ${goQuote(rest)} as ${goQuote(name)}`);
    }
    rest = rest.slice(found.length);
  }
  if (rest !== "") throw fail(`: extra text: ${goQuote(rest)}`);
  const local = text.slice(0, 19);
  const localMs = Date.parse(`${local}Z`);
  // Date converts February 30 to March 1.
  if (Number.isNaN(localMs) || new Date(localMs).toISOString().slice(0, 19) !== local) throw fail(": out of range");
  const [, sign, hours = 0, minutes = 0] = /([+-])(\d\d):(\d\d)$/.exec(text) ?? [];
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === "-" ? -1 : 1);
  const seconds = new Date(localMs - offsetMs).toISOString().slice(0, 19);
  return layout === RFC3339_MICRO ? `${seconds}.${text.slice(20, 26)}Z` : `${seconds}Z`;
}
