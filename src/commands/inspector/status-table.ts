import type { Actor } from "../../trace/events.js";
import { tableLines } from "../../trace/terminal/table.js";
import { printable } from "../../trace/terminal/text.js";
import type { Level, Trace } from "../../trace/trace.js";
import type { StateTable } from "../../trace/ui/live-protocol.js";
import { fitted } from "../../util/text/text-width.js";

/** The table that an inspector shows above its keys and on its live page. A key reports it with all rows. */
export type StatusTable = StateTable;

/** The number of rows that are shown. At 24 lines, two thirds of the terminal are left for the trace. */
const MAX_ROWS = 6;
/** The spinner and a space precede the first line. */
const MARGIN = "  ";

/** The table for the bottom of a terminal, of at most eight lines; empty without rows. Pure. */
export function statusLines({ columns, rows }: StatusTable, width: number): string[] {
  if (rows.length === 0) return [];
  const shown = rows.slice(0, MAX_ROWS).map((row) => row.map(printable));
  const omitted = rows.length - shown.length;
  const table = { columns, rows: shown, ...(omitted === 0 ? {} : { omittedRows: omitted }) };
  const lines = tableLines(table, width).slice(0, MAX_ROWS + 2);
  return lines.map((line, i) => (i === 0 ? "" : MARGIN) + fitted(line, width, ""));
}

/** Reports the whole table. */
export function reportStatus(
  trace: Trace,
  actor: Actor,
  { title, columns, rows }: StatusTable,
  level: Level = 1,
): void {
  trace.emit({ kind: "table", title, columns, rows }, { actor, level });
}
