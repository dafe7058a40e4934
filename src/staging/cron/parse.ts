import { messageOf } from "../../util/errors.js";
import { parseGoDuration } from "../apimachinery/time.js";
import { isTimeZone } from "./time-zone.js";

/** One field of a schedule: the values that match. */
export interface CronField {
  /** `*` or `?` without a step: the field does not restrict the day */
  readonly isStar: boolean;
  /** ascending */
  readonly values: readonly number[];
}

/** A parsed schedule. Mirrors cron.SpecSchedule and cron.ConstantDelaySchedule. */
export type CronSchedule =
  | { readonly type: "every"; readonly delayMs: number }
  | {
      readonly type: "spec";
      readonly minute: CronField;
      readonly hour: CronField;
      readonly dayOfMonth: CronField;
      readonly month: CronField;
      readonly dayOfWeek: CronField;
      /** from `TZ=` or `CRON_TZ=` before the fields */
      readonly timeZone?: string;
    };

type CronParse =
  | { readonly outcome: "ok"; readonly schedule: CronSchedule }
  | { readonly outcome: "invalid"; readonly why: string };

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const MINUTES: Bounds = { min: 0, max: 59 };
const HOURS: Bounds = { min: 0, max: 23 };
const DAYS_OF_MONTH: Bounds = { min: 1, max: 31 };
const MONTHS_OF_YEAR: Bounds = { min: 1, max: 12, names: MONTHS };
const DAYS_OF_WEEK: Bounds = { min: 0, max: 6, names: DAYS };

const DESCRIPTORS: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

class CronError extends Error {}

/**
 * Parses a schedule as the API server and the CronJob controller do, with the same messages. A library finds the next
 * time (`schedule.ts`), but none has this grammar: no 7 for Sunday, no L and #, `@every 5m`.
 *
 * Mirrors ParseStandard in github.com/robfig/cron/v3 (parser.go).
 */
export function parseStandard(text: string): CronParse {
  try {
    return { outcome: "ok", schedule: parse(text) };
  } catch (error) {
    if (error instanceof CronError) return { outcome: "invalid", why: error.message };
    throw error;
  }
}

function parse(text: string): CronSchedule {
  if (text === "") throw new CronError("empty spec string");
  const zone = /^(?:TZ|CRON_TZ)=(\S*)\s*/.exec(text);
  const timeZone = zone?.[1];
  if (timeZone !== undefined && timeZone !== "UTC" && !isTimeZone(timeZone)) {
    throw new CronError(`provided bad location ${timeZone}: unknown time zone ${timeZone}`);
  }
  const spec = text.slice(zone?.[0].length ?? 0).trim();
  if (spec.startsWith("@every ")) return { type: "every", delayMs: parseDelay(spec, spec.slice("@every ".length)) };
  if (spec.startsWith("@") && !Object.hasOwn(DESCRIPTORS, spec)) {
    throw new CronError(`unrecognized descriptor: ${spec}`);
  }
  const fields = (DESCRIPTORS[spec] ?? spec).split(/\s+/).filter((one) => one !== "");
  const [minute = "", hour = "", dayOfMonth = "", month = "", dayOfWeek = ""] = fields;
  if (fields.length !== 5) {
    throw new CronError(`expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`);
  }
  return {
    type: "spec",
    minute: parseField(minute, MINUTES),
    hour: parseField(hour, HOURS),
    dayOfMonth: parseField(dayOfMonth, DAYS_OF_MONTH),
    month: parseField(month, MONTHS_OF_YEAR),
    dayOfWeek: parseField(dayOfWeek, DAYS_OF_WEEK),
    ...(timeZone === undefined ? {} : { timeZone }),
  };
}

/** Mirrors getField: a list of ranges. */
function parseField(text: string, bounds: Bounds): CronField {
  const values = new Set<number>();
  let isStar = false;
  for (const part of text.split(",")) {
    if (part === "") continue;
    const range = parseRange(part, bounds);
    isStar ||= range.isStar;
    for (let value = range.start; value <= range.end; value += range.step) values.add(value);
  }
  return { isStar, values: [...values].sort((a, b) => a - b) };
}

/** `5`, `1-5`, `*`, `?`, and each with a step: `10-30/5`. Mirrors getRange. */
function parseRange(text: string, { min, max, names }: Bounds) {
  const [range = "", stepText, ...more] = text.split("/");
  const [low = "", high, ...hyphens] = range.split("-");
  const isAny = low === "*" || low === "?";
  const start = isAny ? min : parseIntOrName(low, names);
  let end = isAny ? max : high === undefined ? start : parseIntOrName(high, names);
  if (!isAny && hyphens.length > 0) throw new CronError(`too many hyphens: ${text}`);
  if (more.length > 0) throw new CronError(`too many slashes: ${text}`);
  const step = stepText === undefined ? 1 : mustParseInt(stepText);
  if (stepText !== undefined && high === undefined) end = max;
  if (start < min) throw new CronError(`beginning of range (${start}) below minimum (${min}): ${text}`);
  if (end > max) throw new CronError(`end of range (${end}) above maximum (${max}): ${text}`);
  if (start > end) throw new CronError(`beginning of range (${start}) beyond end of range (${end}): ${text}`);
  if (step === 0) throw new CronError(`step of range should be a positive number: ${text}`);
  return { start, end, step, isStar: isAny && step === 1 };
}

function parseIntOrName(text: string, names?: readonly string[]): number {
  const index = names?.indexOf(text.toLowerCase()) ?? -1;
  if (index >= 0) return names === MONTHS ? index + 1 : index;
  return mustParseInt(text);
}

function mustParseInt(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) {
    throw new CronError(
      `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  const value = Number(text);
  if (value < 0) throw new CronError(`negative number (${value}) not allowed: ${text}`);
  return value;
}

/** A Go duration, in whole seconds and at least one. Mirrors cron.Every. */
function parseDelay(spec: string, text: string): number {
  try {
    return Math.max(Math.floor(parseGoDuration(text) / 1_000), 1) * 1_000;
  } catch (error) {
    throw new CronError(`failed to parse duration ${spec}: ${messageOf(error)}`);
  }
}
