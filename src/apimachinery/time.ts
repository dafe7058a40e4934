/** Times and durations in the texts of the API. Pure. */

/** RFC 3339 in UTC, truncated to whole seconds. Mirrors metav1.Time.MarshalJSON. @param ms Unix ms */
export function rfc3339(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** RFC 3339 in UTC with six decimals. Mirrors metav1.MicroTime.MarshalJSON. @param ms Unix ms */
export function rfc3339Micro(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}
