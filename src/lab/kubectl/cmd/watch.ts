import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { objectPath } from "../../../staging/client-go/rest/paths.js";
import { type Named, selectorsOf } from "../builder.js";
import { type KubectlLine, text } from "../flags.js";
import { lineError } from "../line-error.js";
import { isTable, objectText, type Table, tableOptions, tableRows } from "../output.js";
import { nameOf, pathOf, refOf } from "../resources.js";
import type { Session } from "../session.js";
import { GrowingColumns } from "../tab-writer.js";

/**
 * `get --watch`: prints the existing objects, then each change, until it is interrupted.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/get/get.go (watch).
 * @throws LabError FAILED if the line names several kinds or objects
 */
export async function watch(session: Session, line: KubectlLine, all: readonly Named[]): Promise<void> {
  const [named, ...others] = all;
  if (named === undefined || others.some(({ known }) => known !== named.known)) {
    throw lineError(line.verb, "you may only specify a single resource type");
  }
  if (others.length > 0 || named.names.length > 1) {
    throw lineError(line.verb, "watch is only supported on individual resources and resource collections");
  }
  return isTable(line) ? watchTable(session, line, named) : watchObjects(session, line, named);
}

/** Reads the table first, so that its columns have the widths of all its rows. */
async function watchTable(session: Session, line: KubectlLine, named: Named): Promise<void> {
  const { tables, signal } = session;
  const { known, names, namespace } = named;
  const [name] = names;
  const ref = refOf(known, namespace);
  const path = name === undefined ? pathOf(known, namespace) : objectPath(ref, name);
  const first = await tables.expect<Table>({ method: "GET", path, query: selectorsOf(line), signal });
  const { columnDefinitions } = first;
  const columns = new GrowingColumns();
  let { headers = true, ...options } = tableOptions(line, known);
  const print = (table: Table) => {
    if (table.rows.length === 0) return;
    session.print(columns.alignAll(tableRows({ ...table, columnDefinitions }, { ...options, headers })));
    headers = false;
  };
  print(first);
  const { resourceVersion } = first.metadata ?? {};
  const query = { ...watchQuery(line, named), resourceVersion };
  for await (const { type, object } of tables.watch(pathOf(known, namespace), query, signal)) {
    if (type !== "BOOKMARK" && type !== "ERROR") print(object as KubeObject & Table);
  }
}

async function watchObjects(session: Session, line: KubectlLine, named: Named): Promise<void> {
  const { client, signal } = session;
  const { known, namespace } = named;
  const format = text(line, "output") ?? "";
  // Without a resourceVersion, a watch starts with the existing objects.
  for await (const { type, object } of client.watch(pathOf(known, namespace), watchQuery(line, named), signal)) {
    if (type === "BOOKMARK" || type === "ERROR") continue;
    session.print(objectText(object, format, [nameOf(known, object.metadata?.name ?? "")]));
  }
}

function watchQuery(line: KubectlLine, { names }: Named) {
  const [name] = names;
  return name === undefined ? selectorsOf(line) : { ...selectorsOf(line), fieldSelector: `metadata.name=${name}` };
}
