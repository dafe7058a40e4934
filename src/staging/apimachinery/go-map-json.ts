import { isRecord } from "../../util/records.js";

/** Encodes maps as Go's JSON encoder does: keys sorted, HTML characters escaped. Mirrors encoding/json (Marshal). */
export function goMapJson(value: unknown): string {
  const sorted = JSON.stringify(value, (_, inner: unknown) =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
  return sorted.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
