import type { Self } from "../process/process.js";
import { complain, print } from "./console.js";

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

/** `date [-u] [-I] [+FORMAT]`: the lab's clock, in UTC. */
export async function date(self: Self): Promise<number> {
  const now = new Date(self.machine.clock.now());
  let format = "%a %b %e %H:%M:%S UTC %Y";
  for (const arg of self.argv.slice(1)) {
    if (arg.startsWith("+")) format = arg.slice(1);
    else if (arg === "-Iseconds" || arg === "--iso-8601=seconds") format = "%Y-%m-%dT%H:%M:%S+00:00";
    else if (arg === "-I") format = "%Y-%m-%d";
    else if (arg === "-R") format = "%a, %d %b %Y %H:%M:%S +0000";
    else if (arg !== "-u" && arg !== "--utc") {
      await complain(self, `unrecognized option or operand '${arg}'`);
      return 1;
    }
  }
  await print(self, `${formatDate(now, format)}\n`);
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
