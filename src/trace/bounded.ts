import { isRecord } from "../util/records.js";

/** The longest text of a fact, in UTF-16 code units: a URL can have a megabyte. */
export const MAX_TEXT = 16 * 1024;
/** The longest text inside a body. */
export const MAX_BODY_TEXT = 128 * 1024;

const BODIES: ReadonlySet<string> = new Set(["requestBody", "responseBody"]);

/**
 * A copy of a fact with its long texts cut; the fact itself if no text is too long.
 * @param times the factor by which a text may exceed the limit
 */
export function bounded<T>(fact: T, times = 1): T {
  return boundedValue(fact, MAX_TEXT * times, MAX_BODY_TEXT * times) as T;
}

function boundedValue(value: unknown, max: number, maxInBody: number): unknown {
  if (typeof value === "string") return cut(value, max);
  if (Array.isArray(value)) {
    const items = value.map((item) => boundedValue(item, max, maxInBody));
    return items.some((item, i) => item !== value[i]) ? items : value;
  }
  if (!isRecord(value)) return value;
  let copy: Record<string, unknown> | undefined;
  for (const [key, item] of Object.entries(value)) {
    const short = boundedValue(item, BODIES.has(key) ? maxInBody : max, maxInBody);
    if (short === item) continue;
    copy ??= { ...value };
    copy[key] = short;
  }
  return copy ?? value;
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}... (${text.length - max} more characters)`;
}
