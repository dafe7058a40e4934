/** Formats times and durations for the API. Pure. */

/** RFC 3339 in UTC, truncated to whole seconds. Mirrors metav1.Time.MarshalJSON. @param ms Unix ms */
export function rfc3339(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** RFC 3339 in UTC with six decimals. Mirrors metav1.MicroTime.MarshalJSON. @param ms Unix ms */
export function rfc3339Micro(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}

/** `1m20s`, `1.387s`, `250ms`, `0s`. Mirrors time.Duration.String for whole ms. */
export function goDuration(ms: number): string {
  const total = Math.round(ms);
  if (total === 0) return "0s";
  if (Math.abs(total) < 1000) return `${total}ms`;
  const sign = total < 0 ? "-" : "";
  const seconds = (Math.abs(total) % 60_000) / 1000;
  const minutes = Math.trunc(Math.abs(total) / 60_000);
  if (minutes === 0) return `${sign}${seconds}s`;
  const hours = Math.trunc(minutes / 60);
  return `${sign}${hours === 0 ? "" : `${hours}h`}${minutes % 60}m${seconds}s`;
}
