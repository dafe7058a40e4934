import { rfc3339 } from "../../staging/apimachinery/time.js";
import type { Summary } from "../apis/stats/v1alpha1.js";

const NAMES: Readonly<Record<string, string>> = {
  timeMs: "time",
  startTimeMs: "startTime",
  ephemeralStorage: "ephemeral-storage",
  processStats: "process_stats",
};

/** The body of /stats/summary: upstream's names, times in whole seconds. */
export function summaryJson(summary: Summary): string {
  return JSON.stringify(renamed(summary), undefined, 1);
}

function renamed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(renamed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => {
      return [NAMES[key] ?? key, key.endsWith("imeMs") ? rfc3339(field as number) : renamed(field)];
    }),
  );
}
