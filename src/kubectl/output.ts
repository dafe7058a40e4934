import type { KubeObject } from "../apimachinery/api/meta.js";
import { stringify } from "../util/yaml.js";
import { unknown } from "./arguments.js";
import { executeJsonPath } from "./jsonpath.js";

/** The server's response to `as=Table`. */
export interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object?: KubeObject }[];
}

/** Formats a table like kubectl, with three spaces between columns. */
export function tableText(
  { columnDefinitions, rows }: Table,
  options: { wide: boolean; headers: boolean; namespaces: boolean },
): string {
  const shown = columnDefinitions.flatMap(({ priority }, i) => (priority === 0 || options.wide ? [i] : []));
  const lines = rows.map(({ cells, object }) => [
    ...(options.namespaces ? [object?.metadata?.namespace ?? ""] : []),
    ...shown.map((i) => String(cells[i] ?? "")),
  ]);
  const head = [
    ...(options.namespaces ? ["NAMESPACE"] : []),
    ...shown.map((i) => columnDefinitions[i]?.name.toUpperCase() ?? ""),
  ];
  const all = options.headers ? [head, ...lines] : lines;
  const widths = head.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  return all
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd((widths[column] ?? 0) + 3))
        .join("")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

/** Formats objects as `-o` requests. @throws LabError USAGE */
export function objectText(value: unknown, format: string, names: readonly string[]): string {
  if (format === "name") return names.map((name) => `${name}\n`).join("");
  if (format === "json") return `${JSON.stringify(sorted(value), null, 4)}\n`;
  if (format === "yaml") return stringify(sorted(value), { indentSeq: false, lineWidth: 0 });
  if (format.startsWith("jsonpath=")) return executeJsonPath(format.slice("jsonpath=".length), value);
  if (format.startsWith("custom-columns=")) return customColumns(value, format.slice("custom-columns=".length));
  throw unknown(`-o ${format}`);
}

/** Sorts fields by name, as kubectl prints them. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  );
}

function customColumns(value: unknown, spec: string): string {
  const columns = spec.split(",").map((column) => {
    const at = column.indexOf(":");
    return { name: column.slice(0, at), path: `{${column.slice(at + 1).replace(/^\{|\}$/g, "")}}` };
  });
  const { items } = value as { readonly items?: readonly unknown[] };
  const rows = (items ?? [value]).map((item) => ({
    cells: columns.map(({ path }) => executeJsonPath(path, item) || "<none>"),
  }));
  const columnDefinitions = columns.map(({ name }) => ({ name, priority: 0 }));
  return tableText({ columnDefinitions, rows }, { wide: false, headers: true, namespaces: false });
}
