/** The size of quotes, colons, commas and braces around a key or a value. */
const PUNCTUATION_BYTES = 4;
const SCALAR_BYTES = 6;

/**
 * Estimates the size of a value's JSON without encoding it. Text counts by its length in UTF-16, so non-ASCII text is
 * underestimated.
 */
export function jsonBytes(value: unknown): number {
  if (typeof value === "string") return value.length + PUNCTUATION_BYTES;
  if (typeof value !== "object" || value === null) return SCALAR_BYTES;
  let bytes = PUNCTUATION_BYTES;
  if (Array.isArray(value)) {
    for (const item of value) bytes += jsonBytes(item);
    return bytes;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const key in fields) bytes += key.length + PUNCTUATION_BYTES + jsonBytes(fields[key]);
  return bytes;
}
