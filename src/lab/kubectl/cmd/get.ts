import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { objectPath } from "../../../staging/client-go/rest/paths.js";
import { eachOf, getOne, type Named, namedBy, selectorsOf } from "../builder.js";
import { isOn, type KubectlLine, text } from "../flags.js";
import { checkFormat, isTable, objectText, rowsText, type Table, tableOptions, tableRows } from "../output.js";
import { type KnownResource, nameOf, pathOf, refOf } from "../resources.js";
import type { Session } from "../session.js";
import { watch } from "./watch.js";

/** The results of one kind: tables or objects, one per name or list. */
interface Found {
  readonly known: KnownResource;
  readonly answers: unknown[];
}

/**
 * `kubectl get`. The server makes the tables. Missing objects do not prevent the output of the others.
 * Mirrors staging/src/k8s.io/kubectl/pkg/cmd/get/get.go (Run).
 */
export async function get(session: Session, line: KubectlLine): Promise<void> {
  const raw = text(line, "raw");
  if (raw !== undefined) {
    const answer = await session.client.expect({ method: "GET", path: raw, signal: session.signal });
    return session.print(typeof answer === "string" ? answer : `${JSON.stringify(answer)}\n`);
  }
  checkFormat(line, true);
  const all = await namedBy(session, line);
  if (isOn(line, "watch")) return watch(session, line, all);
  const found: Found[] = [];
  try {
    await eachOf(session, all, (named) => fetch(session, line, named, found));
  } finally {
    if (isTable(line)) printTables(session, line, found);
    else if (found.length > 0) printObjects(session, line, found);
  }
}

async function fetch(session: Session, line: KubectlLine, named: Named, found: Found[]): Promise<void> {
  const { known, names, namespace } = named;
  const { signal } = session;
  const client = isTable(line) ? session.tables : session.client;
  const query = selectorsOf(line);
  const ref = refOf(known, namespace);
  const paths = names.length === 0 ? [pathOf(known, namespace)] : names.map((name) => objectPath(ref, name));
  await eachOf(session, paths, async (path) => {
    const answer = await getOne(client, line, { method: "GET", path, query, signal });
    if (answer === undefined) return;
    const last = found.at(-1);
    if (last?.known.kind === known.kind) last.answers.push(answer);
    else found.push({ known, answers: [answer] });
  });
}

/** One table per kind; with several, names have their kind. */
function printTables(session: Session, line: KubectlLine, found: readonly Found[]): void {
  const isAll = isOn(line, "all-namespaces");
  const tables = found.flatMap(({ known, answers }) => {
    const [first, ...others] = answers as Table[];
    const rows = [...(first?.rows ?? []), ...others.flatMap((one) => one.rows)];
    return first === undefined || rows.length === 0 ? [] : [{ known, table: { ...first, rows } }];
  });
  if (tables.length === 0 && found.length > 0) {
    const isNamespaced = found.some(({ known }) => known.isNamespaced) && !isAll;
    session.warn(isNamespaced ? `No resources found in ${session.namespace} namespace.` : "No resources found");
  }
  const texts = tables.map(({ known, table }) =>
    rowsText(tableRows(table, { ...tableOptions(line, known), prefix: found.length > 1 ? nameOf(known, "") : "" })),
  );
  session.print(texts.join("\n"));
}

function printObjects(session: Session, line: KubectlLine, found: readonly Found[]): void {
  type Answer = KubeObject & { readonly items?: readonly KubeObject[] };
  const answers = found.flatMap((one) => one.answers) as Answer[];
  const itemsOf = ({ known, answers }: Found) =>
    (answers as Answer[]).flatMap((one) =>
      (one.items ?? [one]).map((item) => ({ ...item, apiVersion: known.apiVersion, kind: known.kind })),
    );
  const isOne = answers.length === 1 && answers[0]?.items === undefined;
  const value = isOne
    ? answers[0]
    : { apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" }, items: found.flatMap(itemsOf) };
  const names = found.flatMap((one) => itemsOf(one).map(({ metadata }) => nameOf(one.known, metadata.name ?? "")));
  session.print(objectText(value, text(line, "output") ?? "", names));
}
