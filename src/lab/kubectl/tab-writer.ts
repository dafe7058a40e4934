/** The least width of a column, and the number of spaces after its longest cell. */
export interface TabOptions {
  readonly minWidth: number;
  readonly padding: number;
}

/** Mirrors GetNewTabWriter in k8s.io/cli-runtime/pkg/printers/tabwriter.go, which `get` prints tables with. */
export const TABLE_TABS: TabOptions = { minWidth: 6, padding: 3 };

/** Mirrors tabbedString in staging/src/k8s.io/kubectl/pkg/describe/describe.go. */
export const DESCRIBE_TABS: TabOptions = { minWidth: 0, padding: 2 };

/**
 * Aligns rows that come one after the other: a column is as wide as the longest cell so far.
 * Mirrors RememberWidths of github.com/liggitt/tabwriter, which `get --watch` prints with.
 */
export class GrowingColumns {
  readonly #widths: number[] = [];

  align(row: string): string {
    const cells = row.split("\t");
    const last = cells.pop() ?? "";
    const padded = cells.map((cell, i) => {
      const width = Math.max(this.#widths[i] ?? TABLE_TABS.minWidth, cell.length + TABLE_TABS.padding);
      this.#widths[i] = width;
      return cell.padEnd(width);
    });
    return padded.join("") + last;
  }

  /** Several rows, which are also aligned with each other. */
  alignAll(rows: readonly string[]): string {
    for (const row of rows) this.align(row);
    return rows.map((row) => `${this.align(row)}\n`).join("");
  }
}

/**
 * Replaces tabs by spaces: a column is a block of consecutive lines that have a tab after this cell.
 * Mirrors Go's text/tabwriter (format), without flags.
 */
export function alignTabs(text: string, { minWidth, padding }: TabOptions): string {
  const lines = text.split("\n").map((line) => line.split("\t"));
  const aligned = lines.map(() => "");
  const format = (from: number, to: number, column: number): void => {
    for (let at = from; at < to; at++) {
      const begin = at;
      // The last cell of a line belongs to no column.
      while (at < to && column < (lines[at]?.length ?? 0) - 1) at++;
      if (at === begin) {
        aligned[at] += lines[at]?.[column] ?? "";
        continue;
      }
      const cells = lines.slice(begin, at).map((line) => line[column] ?? "");
      const width = Math.max(minWidth, ...cells.map((cell) => cell.length + padding));
      cells.forEach((cell, i) => {
        aligned[begin + i] += cell.padEnd(width);
      });
      format(begin, at, column + 1);
      at--;
    }
  };
  format(0, lines.length, 0);
  return aligned.join("\n");
}
