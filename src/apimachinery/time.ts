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

const NANOS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 6e10,
  h: 3.6e12,
};

/** `1m20s`, `1.5h`, `0` in ms. Mirrors time.ParseDuration, without signs. @returns undefined if it is not a duration */
export function parseGoDuration(text: string): number | undefined {
  if (text === "0") return 0;
  const parts = [...text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text) return undefined;
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (NANOS[unit ?? ""] ?? 0), 0) / 1e6;
}
