import { isRecord } from "../../../util/records.js";

/** Part of the state of a window or a runtime, for the renderer of tables. */
export interface StateTable {
  /** the name of a list; "": single values */
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A line that only prints the state of a window or of a runtime. */
const STATE_LINE = /^curl -sf? \S+\/state$/;
/** More rows would hide the point of the step. */
const MAX_ROWS = 12;
const MAX_CELL = 60;

/** Whether a line prints a state, which is shown as tables. */
export function printsState(line: string): boolean {
  return STATE_LINE.test(line.trim());
}

/**
 * The output of `curl -s .../state` as tables: its values in one row, and each list or map in rows. Pure.
 * @returns undefined for another line, or output that is not a JSON object
 */
export function stateTables(line: string, output: string): readonly StateTable[] | undefined {
  if (!printsState(line)) return undefined;
  const state = parsed(output);
  if (state === undefined) return undefined;
  const entries = Object.entries(state);
  const values = entries.filter(([, value]) => typeof value !== "object");
  const single = { title: "", columns: values.map(([key]) => key), rows: [values.map(([, value]) => cellOf(value))] };
  const lists = entries.flatMap(([key, value]) => tableOf(key, value) ?? []);
  return [...(values.length === 0 ? [] : [single]), ...lists];
}

function tableOf(title: string, value: unknown): StateTable | undefined {
  const items = Array.isArray(value) ? value.slice(0, MAX_ROWS) : undefined;
  if (items?.every(isRecord) === true && items.length > 0) {
    const columns = [...new Set(items.flatMap((item) => Object.keys(item)))].filter((key) =>
      items.some((item) => item[key] !== undefined && cellOf(item[key], key) !== ""),
    );
    return { title, columns, rows: items.map((item) => columns.map((key) => cellOf(item[key], key))) };
  }
  if (items !== undefined && items.length > 0)
    return { title, columns: [title], rows: items.map((item) => [cellOf(item)]) };
  if (!isRecord(value) || Object.keys(value).length === 0) return undefined;
  const rows = Object.entries(value).slice(0, MAX_ROWS);
  return { title, columns: ["name", "value"], rows: rows.map(([key, one]) => [key, cellOf(one)]) };
}

function cellOf(value: unknown, key = ""): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value) && value.length === 0) return "";
  // A time of the cluster, and flags: those that are set.
  if (key === "sinceMs") return new Date(Number(value)).toISOString().slice(11, -1);
  if (key === "flags")
    return Object.keys(value)
      .filter((name) => Reflect.get(Object(value), name) === true)
      .join(", ");
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 3)}...` : text;
}

function parsed(output: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(output);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
