import type { KubeObject } from "../../../api/meta.js";
import { collectionPath, EVENTS, objectPath } from "../../../client/paths.js";
import { stringify } from "../../../util/yaml.js";
import { type KubectlLine, text, unknown } from "./arguments.js";
import { objectText, type Table, tableText } from "./output.js";
import { findResource, type KnownResource, nameOf, pathOf, refOf } from "./resources.js";
import type { Session } from "./session.js";

/** What a line names: a kind, and maybe one name. */
export interface Named {
  readonly known: KnownResource;
  /** undefined: all */
  readonly names: readonly string[];
  readonly namespace: string | undefined;
}

/** `pods`, `pod web`, `pod/web csr/x`: kinds and names. @throws LabError USAGE */
export async function namedBy(session: Session, line: KubectlLine, words = line.words): Promise<readonly Named[]> {
  const { client, signal } = session;
  const namespace = line.flags["all-namespaces"] === undefined ? session.namespace : undefined;
  if (words.length === 0) throw unknown(`${line.verb} without a kind`);
  const first = words[0] ?? "";
  if (!first.includes("/")) {
    return [{ known: await findResource(client, first, signal), names: words.slice(1), namespace }];
  }
  const found: Named[] = [];
  for (const word of words) {
    const [kind = "", name = ""] = word.split("/");
    found.push({ known: await findResource(client, kind, signal), names: [name], namespace });
  }
  return found;
}

/** `kubectl get`. Tables are the server's. */
export async function get(session: Session, line: KubectlLine): Promise<string> {
  const raw = text(line, "raw");
  if (raw !== undefined) {
    return `${JSON.stringify(await session.client.expect({ method: "GET", path: raw, signal: session.signal }))}\n`;
  }
  let out = "";
  for (const named of await namedBy(session, line)) out += await getOne(session, line, named);
  return out;
}

async function getOne(session: Session, line: KubectlLine, { known, names, namespace }: Named): Promise<string> {
  const { signal } = session;
  const format = text(line, "output");
  const query = { labelSelector: text(line, "selector"), fieldSelector: text(line, "field-selector") };
  const isTable = format === undefined || format === "wide";
  const client = isTable ? session.tables : session.client;
  const ref = refOf(known, namespace);
  const paths = names.length === 0 ? [pathOf(known, namespace)] : names.map((name) => objectPath(ref, name));
  const answers: unknown[] = [];
  for (const path of paths) {
    const answer = await client.request({ method: "GET", path, query, signal });
    if (answer.status === 404 && line.flags["ignore-not-found"] !== undefined) continue;
    answers.push(answer.status < 300 ? answer.body : await client.expect({ method: "GET", path, query, signal }));
  }
  if (answers.length === 0) return "";
  if (isTable) return tableOf(session, line, answers as Table[], known.isNamespaced && namespace === undefined);
  const objects = answers as (KubeObject & { readonly items?: readonly KubeObject[] })[];
  const value = objects.length === 1 ? objects[0] : { apiVersion: "v1", kind: "List", items: objects };
  const all = objects.flatMap((one) => one.items ?? [one]);
  return objectText(
    value,
    format,
    all.map(({ metadata }) => nameOf(known, metadata?.name ?? "")),
  );
}

function tableOf(
  session: Session,
  line: KubectlLine,
  [first, ...others]: readonly Table[],
  namespaces: boolean,
): string {
  if (first === undefined) return "";
  const rows = [...first.rows, ...others.flatMap((one) => one.rows)];
  if (rows.length === 0) {
    session.warn(namespaces ? "No resources found" : `No resources found in ${session.namespace} namespace.`);
    return "";
  }
  const headers = line.flags["no-headers"] === undefined;
  return tableText({ ...first, rows }, { wide: line.flags["output"] === "wide", headers, namespaces });
}

/** `kubectl describe`, in short: the object's own words, then its events. */
export async function describe(session: Session, line: KubectlLine): Promise<string> {
  let out = "";
  for (const { known, names, namespace } of await namedBy(session, line)) {
    for (const name of names) {
      const path = objectPath(refOf(known, namespace), name);
      const {
        metadata,
        apiVersion: _a,
        kind: _k,
        ...rest
      } = await session.client.expect<KubeObject>({
        method: "GET",
        path,
        signal: session.signal,
      });
      const { managedFields: _m, ...facts } = (metadata ?? {}) as Record<string, unknown>;
      out += stringify({ Name: name, Metadata: facts, ...rest }, { lineWidth: 0 });
      out += await eventsOf(session, known.kind, name);
    }
  }
  return out;
}

async function eventsOf(session: Session, kind: string, name: string): Promise<string> {
  const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`;
  const path = collectionPath(EVENTS);
  const table = await session.tables.expect<Table>({
    method: "GET",
    path,
    query: { fieldSelector },
    signal: session.signal,
  });
  if (table.rows.length === 0) return "Events:  <none>\n";
  return `Events:\n${tableText(table, { wide: false, headers: true, namespaces: false }).replace(/^/gm, "  ").trimEnd()}\n`;
}
