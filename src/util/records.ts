/** Checks of values whose type is unknown. Pure. */

/** A JSON object: not null, not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Neither undefined nor null. */
export function isSet<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}
