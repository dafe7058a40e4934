import { expect, test } from "vitest";
import { parseStandard } from "../../../src/staging/cron/parse.js";
import { openSchedule } from "../../../src/staging/cron/schedule.js";

/** The next times after `from`, in UTC without seconds. */
function next(schedule: string, from: string, count: number, timeZone?: string): string {
  const parsed = parseStandard(timeZone === undefined ? schedule : `TZ=${timeZone} ${schedule}`);
  if (parsed.outcome === "invalid") return parsed.why;
  const times = openSchedule(parsed.schedule);
  const found: string[] = [];
  let ms: number | undefined = Date.parse(from);
  while (found.length < count) {
    ms = times.next(ms);
    if (ms === undefined) return [...found, "never"].join(" ");
    found.push(new Date(ms).toISOString().replace(":00.000Z", ""));
  }
  return found.join(" ");
}

test.each<[schedule: string, from: string, timeZone: string | undefined, times: string]>([
  ["*/15 * * * *", "2026-01-01T00:00:00Z", undefined, "2026-01-01T00:15 2026-01-01T00:30"],
  ["*/15 * * * *", "2026-01-01T00:14:59.999Z", undefined, "2026-01-01T00:15 2026-01-01T00:30"],
  ["0 0 31 * *", "2026-01-31T00:00:00Z", undefined, "2026-03-31T00:00 2026-05-31T00:00"],
  ["0 12 * * 1-5", "2026-01-02T12:00:00Z", undefined, "2026-01-05T12:00 2026-01-06T12:00"],
  // Both days are restricted: one of them is enough.
  ["0 0 13 * 5", "2026-01-01T00:00:00Z", undefined, "2026-01-02T00:00 2026-01-09T00:00"],
  ["0 0 13 * *", "2026-01-01T00:00:00Z", undefined, "2026-01-13T00:00 2026-02-13T00:00"],
  // A step is a restriction.
  ["0 0 */10 * 1", "2026-01-01T00:00:00Z", undefined, "2026-01-05T00:00 2026-01-11T00:00"],
  ["0 0 29 2 *", "2026-01-01T00:00:00Z", undefined, "2028-02-29T00:00 2032-02-29T00:00"],
  ["0 0 31 2 *", "2026-01-01T00:00:00Z", undefined, "never"],
  ["@hourly", "2026-01-01T00:30:00Z", undefined, "2026-01-01T01:00 2026-01-01T02:00"],
  ["@every 90m", "2026-01-01T00:00:00.500Z", undefined, "2026-01-01T01:30 2026-01-01T03:00"],
  ["0 9 * * *", "2026-06-30T12:00:00Z", "America/New_York", "2026-06-30T13:00 2026-07-01T13:00"],
  ["0 0 * * *", "2026-01-01T00:00:00Z", "Asia/Kolkata", "2026-01-01T18:30 2026-01-02T18:30"],
  // 2:30 does not exist on 29 March, when the clocks go forward.
  ["30 2 * * *", "2026-03-28T00:00:00Z", "Europe/Berlin", "2026-03-28T01:30 2026-03-30T00:30"],
  ["*/30 * * * *", "2026-03-29T00:30:00Z", "Europe/Berlin", "2026-03-29T01:00 2026-03-29T01:30"],
  // 2:30 comes twice on 25 October: the first time counts.
  ["30 2 * * *", "2026-10-24T12:00:00Z", "Europe/Berlin", "2026-10-25T00:30 2026-10-26T01:30"],
])("%s after %s in %s", (schedule, from, timeZone, times) => {
  expect(next(schedule, from, times.split(" ").length === 1 ? 1 : 2, timeZone)).toBe(times);
});
