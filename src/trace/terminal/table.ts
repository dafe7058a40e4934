import { textWidth, wrap } from "../../util/text/text-width.js";
import type { TableFact } from "../events.js";

type TableRows = Pick<TableFact, "columns" | "rows" | "omittedRows">;

/**
 * Rows with aligned columns. A table that is too wide turns its first column into headings. If it is still too wide,
 * each row becomes one sentence, because a table with broken lines is unreadable.
 */
export function tableLines({ columns, rows, omittedRows }: TableRows, width: number): string[] {
  const clean = rows.map((row) => row.map((cell) => cell.replaceAll("\n", " ")));
  const heads = columns.map((column) => column.toUpperCase());
  const lines =
    aligned([heads, ...clean], width) ??
    grouped(heads, clean, width) ??
    clean.map((row) => columns.map((column, i) => `${column} ${row[i] ?? ""}`).join(", "));
  return [...lines, ...(omittedRows === undefined ? [] : [`... ${omittedRows} more`])];
}

/** As `tableLines`; if sentences are wider than the terminal, each row is a list of its cells. */
export function wrappedTable(table: TableRows, width: number): string[] {
  const lines = tableLines(table, width);
  const { columns, rows } = table;
  const fits = (line: string) => textWidth(line) <= width;
  const cells = (row: readonly string[]) => columns.map((name, i) => [`  ${name}`, row[i] ?? ""]).slice(1);
  const lists = rows.flatMap((row) => [row[0] ?? "", ...alignedLines(cells(row)).filter((_, i) => row[i + 1] !== "")]);
  return lines.every(fits) ? lines : lists.flatMap((line) => (fits(line) ? [line] : wrap(line, width)));
}

/** Rows as lines whose columns are aligned on a terminal, however wide. The first row has all columns. */
export function alignedLines(rows: readonly (readonly string[])[]): string[] {
  const widths = widthsOf(rows);
  return rows.map((row) =>
    row
      .map((cell, i) => cell + " ".repeat(Math.max(0, (widths[i] ?? 0) - textWidth(cell))))
      .join("  ")
      .trimEnd(),
  );
}

/** @returns undefined if it is too wide */
function aligned(rows: readonly (readonly string[])[], width: number): string[] | undefined {
  return widthsOf(rows).reduce((sum, one) => sum + one + 2, -2) > width ? undefined : alignedLines(rows);
}

function widthsOf(rows: readonly (readonly string[])[]): number[] {
  return (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => textWidth(row[i] ?? ""))));
}

function grouped(heads: readonly string[], rows: readonly (readonly string[])[], width: number): string[] | undefined {
  const lines = aligned([heads.slice(1), ...rows.map((row) => row.slice(1))], width - 2);
  if (lines === undefined || heads.length < 2) return undefined;
  const [top = "", ...rest] = lines.map((line) => `  ${line}`);
  return [top, ...rest.flatMap((line, i) => (rows[i]?.[0] === rows[i - 1]?.[0] ? [line] : [rows[i]?.[0] ?? "", line]))];
}
