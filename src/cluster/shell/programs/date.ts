import { errorText } from "../fs/fs-error.js";
import { resolvePath } from "../fs/paths.js";
import type { Self } from "../process/process.js";
import { fail, parseArgs, print, usage } from "./console.js";

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

const ISO_FORMATS: Readonly<Record<string, string>> = {
  "": "%Y-%m-%d",
  date: "%Y-%m-%d",
  hours: "%Y-%m-%dT%H+00:00",
  minutes: "%Y-%m-%dT%H:%M+00:00",
  seconds: "%Y-%m-%dT%H:%M:%S+00:00",
};

/** `date [-uR] [-I[UNIT]] [-d DATE | -r FILE] [+FORMAT]`: the lab's clock, in UTC. It cannot be set. */
export async function date(self: Self): Promise<number> {
  const args = self.argv.slice(1).map((arg) => arg.replace(/^--iso-8601=?/, "-I").replace(/^--utc$/, "-u"));
  const iso = args.find((arg) => arg.startsWith("-I"))?.slice(2);
  const { options, rest, unknown } = parseArgs(
    args.filter((arg) => !arg.startsWith("-I")),
    "uRd:r:s:",
  );
  const format = rest.find((arg) => arg.startsWith("+"))?.slice(1);
  const text = options.get("d") ?? rest.find((arg) => !arg.startsWith("+"));
  if (unknown !== undefined) return usage(self, unknown);
  if (options.has("s") || (text !== undefined && !options.has("d")))
    return fail(self, "can't set date: Operation not permitted");
  const file = options.get("r");
  const { fs, clock } = self.machine;
  let ms = text === undefined ? clock.now() : parseDate(text, clock.now());
  try {
    if (file !== undefined) ms = fs.stat(resolvePath(self.cwd, file)).mtimeMs;
  } catch (error) {
    return fail(self, `${file}: ${errorText(error)}`);
  }
  if (ms === undefined) return fail(self, `invalid date '${text}'`);
  const usual = options.has("R") ? "%a, %d %b %Y %H:%M:%S +0000" : "%a %b %e %H:%M:%S UTC %Y";
  await print(
    self,
    `${formatDate(new Date(ms), format ?? (iso === undefined ? usual : (ISO_FORMATS[iso] ?? usual)))}\n`,
  );
  return 0;
}

const two = (value: number) => String(value).padStart(2, "0");

/** strftime in UTC. */
export function formatDate(when: Date, format: string): string {
  const day = DAYS[when.getUTCDay()] ?? "";
  const month = MONTHS[when.getUTCMonth()] ?? "";
  const hours = when.getUTCHours();
  const yearStart = Date.UTC(when.getUTCFullYear(), 0, 1);
  const parts: Readonly<Record<string, string>> = {
    Y: String(when.getUTCFullYear()),
    y: two(when.getUTCFullYear() % 100),
    m: two(when.getUTCMonth() + 1),
    d: two(when.getUTCDate()),
    e: String(when.getUTCDate()).padStart(2),
    H: two(hours),
    I: two(hours % 12 === 0 ? 12 : hours % 12),
    M: two(when.getUTCMinutes()),
    S: two(when.getUTCSeconds()),
    N: `${String(when.getUTCMilliseconds()).padStart(3, "0")}000000`,
    s: String(Math.floor(when.getTime() / 1000)),
    j: String(Math.floor((when.getTime() - yearStart) / 86_400_000) + 1).padStart(3, "0"),
    p: hours < 12 ? "AM" : "PM",
    a: day.slice(0, 3),
    A: day,
    b: month.slice(0, 3),
    h: month.slice(0, 3),
    B: month,
    u: String(when.getUTCDay() === 0 ? 7 : when.getUTCDay()),
    w: String(when.getUTCDay()),
    z: "+0000",
    Z: "UTC",
    n: "\n",
    t: "\t",
    "%": "%",
  };
  const whole: Readonly<Record<string, string>> = {
    F: "%Y-%m-%d",
    T: "%H:%M:%S",
    R: "%H:%M",
    D: "%m/%d/%y",
    c: "%a %b %e %H:%M:%S %Y",
  };
  return format
    .replace(/%([FTRDc])/g, (_match, letter: string) => whole[letter] ?? "")
    .replace(/%([A-Za-z%])/g, (match, letter: string) => parts[letter] ?? match);
}

/** A date as `date -d` and `touch -d` of busybox take it, in UTC: `2020-01-31 10:20`, `202001311020.30`, `10:20`,
 * `@SECONDS`. @returns Unix ms */
export function parseDate(text: string, nowMs: number): number | undefined {
  const seconds = /^@(\d+)$/.exec(text)?.[1];
  if (seconds !== undefined) return Number(seconds) * 1000;
  const time = /^\d\d:\d\d(:\d\d)?$/.test(text) ? `${new Date(nowMs).toISOString().slice(0, 10)} ${text}` : text;
  const packed = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d\d))?$/.exec(text);
  const dashed = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d))?)?Z?$/.exec(time);
  const parts = (packed ?? dashed)?.slice(1).map((part) => Number(part ?? 0));
  if (parts === undefined) return undefined;
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts;
  return month > 12 || day > 31 || hour > 23 || minute > 59
    ? undefined
    : Date.UTC(year, month - 1, day, hour, minute, second);
}
