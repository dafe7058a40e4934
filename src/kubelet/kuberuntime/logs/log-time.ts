/** A moment as a log line has it: to the nanosecond, with the zone it was written in. */
export interface LogTime {
  /** Unix ms, without the part below a second */
  readonly secondMs: number;
  readonly nanos: number;
  /** `2026-01-02T03:04:05` as written */
  readonly dateTime: string;
  /** `Z` or `+02:00` */
  readonly zone: string;
}

const FORMAT = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/;
const NANO_DIGITS = 9;

/**
 * Reads RFC 3339 with any number of fractional digits. Pure.
 *
 * Mirrors RFC3339NanoLenient in pkg/kubelet/types/constants.go.
 * @returns undefined when it is no such time
 */
export function parseLogTime(text: string): LogTime | undefined {
  const match = FORMAT.exec(text);
  if (match === null) return undefined;
  const [, year = "", month = "", day = "", hour = "", minute = "", second = "", fraction = "", zone = ""] = match;
  const localMs = Date.UTC(+year, +month - 1, +day, +hour, +minute, +second);
  // Date.UTC takes the 31st of February for the 3rd of March.
  const isReal = new Date(localMs).getUTCDate() === +day && +month <= 12 && +hour < 24 && +minute < 60 && +second < 60;
  if (!isReal) return undefined;
  return {
    secondMs: localMs - zoneMs(zone),
    nanos: fraction === "" ? 0 : Number(fraction.slice(0, NANO_DIGITS).padEnd(NANO_DIGITS, "0")),
    dateTime: text.slice(0, 19),
    zone,
  };
}

function zoneMs(zone: string): number {
  if (zone === "Z") return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6));
  return (zone.startsWith("-") ? -minutes : minutes) * 60_000;
}

/** Always nine fractional digits. Mirrors RFC3339NanoFixed in pkg/kubelet/types/constants.go. */
export function formatLogTime({ dateTime, nanos, zone }: LogTime): string {
  return `${dateTime}.${String(nanos).padStart(NANO_DIGITS, "0")}${zone === "+00:00" || zone === "-00:00" ? "Z" : zone}`;
}

/** @param sinceMs Unix ms, may have a fraction */
export function isBefore(time: LogTime, sinceMs: number): boolean {
  return time.secondMs + time.nanos / 1e6 < sinceMs;
}
