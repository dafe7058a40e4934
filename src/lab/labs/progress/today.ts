import { createHash } from "node:crypto";
import { isRecord } from "../../../util/records.js";

/** The work of a learner in the incident of one day. */
export interface TodayResult {
  /** the incident's id */
  readonly lab: string;
  /** Unix ms of its first start on that day */
  readonly startedAtMs: number;
  /** Unix ms; undefined: not finished */
  readonly finishedAtMs?: number;
  readonly points?: number;
  readonly mostPoints?: number;
  readonly hints?: number;
}

/** By date: `2026-11-28`. */
export type TodayResults = Readonly<Record<string, TodayResult>>;

const DAY_MS = 86_400_000;

/** The learner's date. Pure but for the time zone. @param ms Unix */
export function dateAt(ms: number): string {
  const now = new Date(ms);
  const two = (part: number) => String(part).padStart(2, "0");
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`;
}

/** The number of a date: days since 1970. */
export function dayOf(date: string): number {
  return Date.parse(date) / DAY_MS;
}

/** The incident of a date. All come once before one comes again, each time in another order. Pure. @returns "" if there are no ids */
export function incidentOn(date: string, ids: readonly string[]): string {
  const day = dayOf(date);
  const round = Math.floor(day / ids.length);
  const rank = (id: string) => createHash("sha256").update(`${round} ${id}`).digest("hex");
  const order = ids.map((id) => ({ id, rank: rank(id) })).toSorted((a, b) => a.rank.localeCompare(b.rank));
  return order[day % ids.length]?.id ?? "";
}

/** The days in a row with a finished incident, up to this date or to the day before. Pure. */
export function streakAt(date: string, results: TodayResults): number {
  const isFinished = (day: number) => results[dateOfDay(day)]?.finishedAtMs !== undefined;
  const today = dayOf(date);
  let day = isFinished(today) ? today : today - 1;
  let streak = 0;
  while (isFinished(day)) {
    streak += 1;
    day -= 1;
  }
  return streak;
}

function dateOfDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, "2026-11-28".length);
}

/** Whether a value from a progress file has the results of days. */
export function isTodayResults(value: unknown): value is TodayResults {
  return (
    isRecord(value) && Object.entries(value).every(([date, one]) => Number.isInteger(dayOf(date)) && isResult(one))
  );
}

function isResult(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { lab, startedAtMs, finishedAtMs, points, mostPoints, hints } = value;
  const numbers = [finishedAtMs, points, mostPoints, hints].filter((one) => one !== undefined);
  return typeof lab === "string" && [startedAtMs, ...numbers].every(Number.isFinite);
}
