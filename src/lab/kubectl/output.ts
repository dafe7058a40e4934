import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import { goFormat } from "../../staging/apimachinery/scheme/go-text.js";
import { executeJsonPath, findValues } from "../../staging/client-go/jsonpath/jsonpath.js";
import { stringify } from "../../util/yaml.js";
import { isOn, type KubectlLine, text } from "./flags.js";
import { lineError, unknown } from "./line-error.js";
import type { KnownResource } from "./resources.js";
import { alignTabs, TABLE_TABS } from "./tab-writer.js";

/** The server's response to `as=Table`. */
export interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
  readonly metadata?: { readonly resourceVersion?: string };
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object?: KubeObject }[];
}

export interface TableOptions {
  readonly wide?: boolean;
  readonly headers?: boolean;
  /** a column before the others */
  readonly namespaces?: boolean;
  /** a column after the others */
  readonly labels?: boolean;
  /** the prefix of names: `pod/` */
  readonly prefix?: string;
}

/** Whether a line asks for a table, which the server makes. */
export function isTable(line: KubectlLine): boolean {
  return [undefined, "wide"].includes(text(line, "output"));
}

/** The table options of a line's flags for this kind. */
export function tableOptions(line: KubectlLine, { isNamespaced }: Pick<KnownResource, "isNamespaced">): TableOptions {
  return {
    wide: text(line, "output") === "wide",
    headers: !isOn(line, "no-headers"),
    labels: isOn(line, "show-labels"),
    namespaces: isNamespaced && isOn(line, "all-namespaces"),
  };
}

/** The rows of a table, with tabs between their cells. Mirrors k8s.io/cli-runtime/pkg/printers/tableprinter.go (printTable). */
export function tableRows({ columnDefinitions, rows }: Table, options: TableOptions): readonly string[] {
  const { wide = false, headers = true, namespaces = false, labels = false, prefix = "" } = options;
  const shown = columnDefinitions.flatMap(({ priority }, i) => (priority === 0 || wide ? [i] : []));
  const line = (namespace: string, cell: (column: number) => string, last: string) =>
    [...(namespaces ? [namespace] : []), ...shown.map(cell), ...(labels ? [last] : [])].join("\t");
  const lines = rows.map(({ cells, object }) => {
    const name = (i: number) => (i === shown[0] ? prefix : "") + String(cells[i] ?? "");
    return line(object?.metadata?.namespace ?? "", name, labelsText(object?.metadata?.labels));
  });
  const head = line("NAMESPACE", (i) => columnDefinitions[i]?.name.toUpperCase() ?? "", "LABELS");
  return headers ? [head, ...lines] : lines;
}

/** Formats rows whose cells are separated by tabs. */
export function rowsText(rows: readonly string[]): string {
  return alignTabs(rows.map((row) => `${row}\n`).join(""), TABLE_TABS);
}

/** `a=b,c=d`. Mirrors FormatLabels in k8s.io/apimachinery/pkg/labels/labels.go. */
export function labelsText(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? "<none>" : pairs.sort().join(",");
}

/** The formats of objects, and those that only kubectl has. Mirrors k8s.io/cli-runtime/pkg/genericclioptions/print_flags.go. */
const FORMATS: readonly string[] = ["custom-columns", "json", "jsonpath", "name", "yaml"];
const LACKING_FORMATS: readonly string[] =
  "custom-columns-file go-template go-template-file jsonpath-as-json jsonpath-file template templatefile".split(" ");
/** The error for a format that needs an argument. */
const WITH_TEMPLATE: Readonly<Record<string, string>> = {
  "custom-columns": "custom-columns format specified but no custom columns given",
  jsonpath: "template format specified but no template given",
};

/**
 * Checks the format of `-o` before anything is requested.
 * @param isTable whether `-o wide` makes a table
 * @throws LabError FAILED for a format that no kubectl has, USAGE for one that only kubectl has
 */
export function checkFormat(line: KubectlLine, isTable = false): void {
  const format = text(line, "output");
  const [name = "", ...template] = format?.split("=") ?? [];
  const known = isTable ? [...FORMATS, "wide"].sort() : FORMATS;
  if (format === undefined) return;
  if (LACKING_FORMATS.includes(name)) throw unknown(`-o ${name}`);
  if (!known.includes(name)) {
    const allowed = `allowed formats are: ${known.join(",")}`;
    throw lineError(line.verb, `unable to match a printer suitable for the output format "${format}", ${allowed}`);
  }
  if (WITH_TEMPLATE[name] !== undefined && template.join("=") === "") throw lineError(line.verb, WITH_TEMPLATE[name]);
}

/** Formats objects as `-o` requests, which `checkFormat` has checked. */
export function objectText(value: unknown, format: string, names: readonly string[]): string {
  if (format === "name") return names.map((name) => `${name}\n`).join("");
  if (format === "json") return `${JSON.stringify(sorted(value), null, 4)}\n`;
  if (format === "yaml") return stringify(sorted(value), { indentSeq: false, lineWidth: 0 });
  if (format.startsWith("jsonpath=")) return executeJsonPath(format.slice("jsonpath=".length), value);
  if (format.startsWith("custom-columns=")) return customColumns(value, format.slice("custom-columns=".length));
  throw new Error(`unchecked format ${format}`);
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

/** Mirrors staging/src/k8s.io/kubectl/pkg/cmd/get/customcolumn.go. */
function customColumns(value: unknown, spec: string): string {
  const columns = spec.split(",").map((column) => {
    const at = column.indexOf(":");
    return { name: column.slice(0, at), path: column.slice(at + 1) };
  });
  const { items } = value as { readonly items?: readonly unknown[] };
  const rows = (items ?? [value]).map((item) =>
    columns.map(({ path }) => findValues(path, item).map(goFormat).join(",") || "<none>").join("\t"),
  );
  return rowsText([columns.map(({ name }) => name).join("\t"), ...rows]);
}
