import { Cron } from "croner";
import type { CronField, CronSchedule } from "./parse.js";

/** The times of a schedule. Mirrors cron.Schedule in github.com/robfig/cron/v3. */
export interface Schedule {
  /** The first time after `afterMs`, in Unix ms; undefined if there is none: 31 February. */
  next(afterMs: number): number | undefined;
}

/** More attempts than a year has clock changes. */
const MAX_SKIPPED = 10;

/**
 * Mirrors SpecSchedule.Next and ConstantDelaySchedule.Next: a time that the clocks skip in spring is left out.
 * Differs: a time that they repeat in autumn comes once; without a time zone, UTC counts, as in kubeadm's controller manager.
 */
export function openSchedule(schedule: CronSchedule): Schedule {
  if (schedule.type === "every") {
    const { delayMs } = schedule;
    return { next: (afterMs) => Math.floor(afterMs / 1000) * 1000 + delayMs };
  }
  const { minute, hour, dayOfMonth, month, dayOfWeek, timeZone = "UTC" } = schedule;
  const pattern = [minute, hour, dayOfMonth, month, dayOfWeek].map(fieldText).join(" ");
  // Either day matches if both are restricted, as in every cron. Without a function the library starts no timer.
  const cron = new Cron(pattern, { timezone: timeZone, domAndDow: false });
  const hourIn = new Intl.DateTimeFormat("en-US", { timeZone, hour: "numeric", hourCycle: "h23" });
  return {
    next(afterMs) {
      let date: Date | null = cron.nextRun(new Date(afterMs));
      for (let skipped = 0; date !== null && skipped < MAX_SKIPPED; skipped++) {
        // The library moves a skipped time to the next hour.
        if (hour.values.includes(Number(hourIn.format(date)))) return date.getTime();
        date = cron.nextRun(date);
      }
      return undefined;
    },
  };
}

/** Only numbers are passed on, because libraries disagree about the rest. */
function fieldText({ isStar, values }: CronField): string {
  return isStar ? "*" : values.join(",");
}
