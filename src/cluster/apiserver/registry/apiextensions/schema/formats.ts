import { isIP, isIPv4, isIPv6 } from "node:net";
import { canonicalBase64 } from "../../../../../staging/apimachinery/scheme/base64.js";

/**
 * The formats of texts that are checked. Others mean nothing.
 * Mirrors k8s.io/apiextensions-apiserver/pkg/apiserver/validation/formats.go, k8s.io/kube-openapi/pkg/validation/strfmt.
 */
const CHECKS: Readonly<Record<string, (text: string) => boolean>> = {
  bsonobjectid: (text) => /^[0-9a-f]{24}$/i.test(text),
  uri: (text) => text.startsWith("/") || (/^[a-z][a-z0-9+.-]*:/i.test(text) && URL.canParse(text)),
  email: (text) => text.length <= 320 && /^[^\s@<>]+@[^\s@<>]+$/.test(text.replace(/^[^<>]*<([^<>]*)>$/, "$1")),
  hostname: isHostname,
  ipv4: isIPv4,
  ipv6: isIPv6,
  cidr: isCidr,
  mac: (text) =>
    /^(?:[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4})$/i.test(text),
  uuid: (text) => isUuid(text, "[0-9a-f]", "[0-9a-f]"),
  uuid3: (text) => isUuid(text, "3", "[0-9a-f]"),
  uuid4: (text) => isUuid(text, "4", "[89ab]"),
  uuid5: (text) => isUuid(text, "5", "[89ab]"),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
  hexcolor: (text) => /^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(text),
  rgbcolor: isRgbColour,
  byte: (text) => canonicalBase64(text) !== undefined,
  password: () => true,
  date: isDate,
  duration: isDuration,
  datetime: isDateTime,
};

/** Whether a text has a format. @param format `date-time`; dashes do not count */
export function hasFormat(text: string, format: string): boolean {
  const name = format.replaceAll("-", "");
  return !Object.hasOwn(CHECKS, name) || (CHECKS[name]?.(text) ?? true);
}

/** Whether texts of this format are checked at all. */
export function isCheckedFormat(format: string): boolean {
  return Object.hasOwn(CHECKS, format.replaceAll("-", ""));
}

function isHostname(text: string): boolean {
  if (text.length === 0 || text.length > 255) return false;
  const labels = text.split(".");
  return labels.every(
    (one) => one.length <= 63 && /^[a-z0-9\p{S}\p{L}](?:[a-z0-9\p{S}\p{L}-]*[a-z0-9\p{S}\p{L}])?$/iu.test(one),
  );
}

function isCidr(text: string): boolean {
  const [address = "", bits = "", more] = text.split("/");
  const version = isIP(address);
  return more === undefined && version > 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}

function isUuid(text: string, version: string, variant: string): boolean {
  const pattern = `^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`;
  return text.length <= 36 && new RegExp(pattern, "i").test(text);
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[- ]/g, "");
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  return [...digits].reduce((sum, one, i) => sum + (one === "X" ? 10 : Number(one)) * (10 - i), 0) % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[- ]/g, "");
  return (
    /^\d{13}$/.test(digits) &&
    [...digits].reduce((sum, one, i) => sum + Number(one) * (i % 2 === 0 ? 1 : 3), 0) % 10 === 0
  );
}

const CARDS =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/;

function isCreditCard(text: string): boolean {
  const digits = text.replace(/\D/g, "");
  if (!CARDS.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, one, i) => {
    const value = Number(one) * (i % 2 === 0 ? 1 : 2);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

function isRgbColour(text: string): boolean {
  const parts = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text)?.slice(1) ?? [];
  return parts.length === 3 && parts.every((part) => Number(part) <= 255);
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

function isDateTime(text: string): boolean {
  const [, date = ""] =
    /^(\d{4}-\d{2}-\d{2})[t ]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:z|[+-]\d{2}:?\d{2})?$/i.exec(text) ?? [];
  return isDate(date) && !Number.isNaN(Date.parse(text.replace(",", ".").toUpperCase().replace(" ", "T")));
}

const GO_DURATION =
  /^[+-]?(?:0|(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)){0,20})$/;
const SCALA_UNITS =
  /^(?:ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|sec|secs|seconds?|m|mins?|minutes?|h|hr|hours?|d|days?|w|wks?|weeks?)$/i;

/** Go's durations, and those of Scala: `22 ns`, `3 days`. */
function isDuration(text: string): boolean {
  if (text.length > 100) return false;
  const [, unit = ""] = /^\d+\s*([a-zµ]+)$/i.exec(text) ?? [];
  return GO_DURATION.test(text) || SCALA_UNITS.test(unit);
}
