const FORMAT =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const NANO_DIGITS = 9;
/** `2026-01-02T03:04:05` */
const DATE_TIME_LENGTH = 19;

/**
 * Reads RFC 3339 with any number of fractional digits. Pure.
 *
 * Mirrors RFC3339NanoLenient in pkg/kubelet/types/constants.go.
 * @returns undefined when it is no such time
 */
export function parseLogTime(text: string): LogTime | undefined {
  if (!FORMAT.test(text)) return undefined;
  const time = new LogTime(text);
  // Date.UTC takes February 31 for March 3, so days after the 28th need this check.
  const day = text.slice(8, 10);
  return day <= "28" || new Date(time.localMs).getUTCDate() === Number(day) ? time : undefined;
}

/**
 * The time of a log line: to the nanosecond, in its original time zone. Its value is computed only on demand, because
 * most readers of a log do not need it.
 */
export class LogTime {
  /** @param text checked by `parseLogTime` */
  constructor(readonly text: string) {}

  /** `Z` or `+02:00` */
  get #zone(): string {
    return this.text.endsWith("Z") ? "Z" : this.text.slice(-6);
  }

  /** exactly nine digits */
  get #nanos(): string {
    const fraction = this.text.slice(DATE_TIME_LENGTH + 1, -this.#zone.length);
    return fraction.slice(0, NANO_DIGITS).padEnd(NANO_DIGITS, "0");
  }

  /** Unix ms of the whole second, as if the zone were UTC */
  get localMs(): number {
    const part = (from: number, to: number) => Number(this.text.slice(from, to));
    return Date.UTC(part(0, 4), part(5, 7) - 1, part(8, 10), part(11, 13), part(14, 16), part(17, 19));
  }

  /** @param sinceMs Unix ms, may have a fraction */
  isBefore(sinceMs: number): boolean {
    return this.localMs - zoneMs(this.#zone) + Number(this.#nanos) / 1e6 < sinceMs;
  }

  /** Always nine fractional digits. Mirrors RFC3339NanoFixed in pkg/kubelet/types/constants.go. */
  format(): string {
    const zone = this.#zone;
    const shown = zone === "+00:00" || zone === "-00:00" ? "Z" : zone;
    return `${this.text.slice(0, DATE_TIME_LENGTH)}.${this.#nanos}${shown}`;
  }
}

function zoneMs(zone: string): number {
  if (zone === "Z") return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6));
  return (zone.startsWith("-") ? -minutes : minutes) * 60_000;
}
