/** What quotes, colons, commas and braces add to a key or a value. */
const PUNCTUATION_BYTES = 4;
const SCALAR_BYTES = 6;

/**
 * About how many bytes a value's JSON has, without making it: text counts by its length, so that one in another script
 * weighs less than it is.
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
