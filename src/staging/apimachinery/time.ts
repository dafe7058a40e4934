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

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};
const PART = /(\d+(?:\.\d*)?|\.\d+)([^\d.]*)/y;

/** The text is not a Go duration; the message is Go's: `time: missing unit in duration "10"`. */
class DurationError extends Error {
  override readonly name = "DurationError";
}

/** The ms of `1m20s`, `-1.5h`, `0`. Mirrors time.ParseDuration. @throws DurationError */
export function parseGoDuration(text: string): number {
  const fail = (why: string) => new DurationError(`time: ${why} ${JSON.stringify(text)}`);
  if (/^[-+]?0$/.test(text)) return 0;
  if (/^[-+]?$/.test(text)) throw fail("invalid duration");
  let totalMs = 0;
  PART.lastIndex = /^[-+]/.test(text) ? 1 : 0;
  while (PART.lastIndex < text.length) {
    const [, amount, unit = ""] = PART.exec(text) ?? [];
    if (amount === undefined) throw fail("invalid duration");
    if (unit === "") throw fail("missing unit in duration");
    const unitMs = Object.hasOwn(UNIT_MS, unit) ? UNIT_MS[unit] : undefined;
    if (unitMs === undefined) throw fail(`unknown unit ${JSON.stringify(unit)} in duration`);
    totalMs += Number(amount) * unitMs;
  }
  return text.startsWith("-") ? -totalMs : totalMs;
}
