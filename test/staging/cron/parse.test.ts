import { expect, test } from "vitest";
import { parseStandard } from "../../../src/staging/cron/parse.js";

const ATOI = (text: string) => `failed to parse int from ${text}: strconv.Atoi: parsing "${text}": invalid syntax`;

test.each<[schedule: string, why: string]>([
  ["", "empty spec string"],
  ["* * * *", "expected exactly 5 fields, found 4: [* * * *]"],
  ["* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"],
  ["x * * * *", ATOI("x")],
  ["60 * * * *", "end of range (60) above maximum (59): 60"],
  ["* 24 * * *", "end of range (24) above maximum (23): 24"],
  ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
  ["* * * 13 *", "end of range (13) above maximum (12): 13"],
  ["* * * * 7", "end of range (7) above maximum (6): 7"],
  ["5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"],
  ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
  ["1/2/3 * * * *", "too many slashes: 1/2/3"],
  ["*/0 * * * *", "step of range should be a positive number: */0"],
  ["*/-1 * * * *", "negative number (-1) not allowed: -1"],
  ["* * * foo *", ATOI("foo")],
  ["@never", "unrecognized descriptor: @never"],
  ["@every", "unrecognized descriptor: @every"],
  ["@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'],
  ["@every x", 'failed to parse duration @every x: time: invalid duration "x"'],
  ["TZ=Nowhere * * * * *", "provided bad location Nowhere: unknown time zone Nowhere"],
])("%j is invalid: %s", (schedule, why) => {
  expect(parseStandard(schedule)).toEqual({ outcome: "invalid", why });
});

/** `minute hour day month weekday`, with `*` where a field does not restrict. */
function textOf(schedule: string): string {
  const parsed = parseStandard(schedule);
  if (parsed.outcome === "invalid") return parsed.why;
  if (parsed.schedule.type === "every") return `every ${parsed.schedule.delayMs} ms`;
  const { minute, hour, dayOfMonth, month, dayOfWeek } = parsed.schedule;
  return [minute, hour, dayOfMonth, month, dayOfWeek].map((one) => (one.isStar ? "*" : one.values.join())).join(" ");
}

test.each<[schedule: string, fields: string]>([
  ["*/15 0 1,15 * 1-5", "0,15,30,45 0 1,15 * 1,2,3,4,5"],
  ["30 10-14/2 ? JAN,dec SUN", "30 10,12,14 * 1,12 0"],
  ["50/5 * * * *", "50,55 * * * *"],
  ["5,1,5 * * * *", "1,5 * * * *"],
  ["@hourly", "0 * * * *"],
  ["@weekly", "0 0 * * 0"],
  ["@every 1h30m", "every 5400000 ms"],
  ["@every 1.5s", "every 1000 ms"],
  ["@every 10ms", "every 1000 ms"],
  ["  0  0 * * *  ", "0 0 * * *"],
])("%j means %s", (schedule, fields) => {
  expect(textOf(schedule)).toBe(fields);
});

test("a time zone before the fields", () => {
  expect(parseStandard("CRON_TZ=Asia/Tokyo 0 0 * * *")).toMatchObject({ schedule: { timeZone: "Asia/Tokyo" } });
});
