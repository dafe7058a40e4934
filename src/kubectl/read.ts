import type { KubeObject } from "../apimachinery/api/meta.js";
import { collectionPath, EVENTS, objectPath } from "../client-go/rest/paths.js";
import { stringify } from "../util/yaml.js";
import { type KubectlLine, text, unknown } from "./arguments.js";
import { objectText, type Table, tableText } from "./output.js";
import { findResource, type KnownResource, nameOf, pathOf, refOf } from "./resources.js";
import type { Session } from "./session.js";

/** A kind, and optionally one name, on a command line. */
export interface Named {
  readonly known: KnownResource;
  /** undefined: all objects */
  readonly names: readonly string[];
  readonly namespace: string | undefined;
}

/** Parses `pods`, `pod web`, `pod/web csr/x`. @throws LabError USAGE */
export async function namedBy(session: Session, line: KubectlLine, words = line.words): Promise<readonly Named[]> {
  const { client, signal } = session;
  const namespace = line.flags["all-namespaces"] === undefined ? session.namespace : undefined;
  if (words.length === 0) throw unknown(line.verb, "kubectlNeedsKind");
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

/** `kubectl get`. The server formats the tables. */
export async function get(session: Session, line: KubectlLine): Promise<string> {
  const raw = text(line, "raw");
  if (raw !== undefined) {
    return `${JSON.stringify(await session.client.expect({ method: "GET", path: raw, signal: session.signal }))}\n`;
  }
  let out = "";
  for (const named of await namedBy(session, line)) {
    if (line.flags["watch"] !== undefined) await watch(session, line, named);
    else out += await getOne(session, line, named);
  }
  return out;
}

/** `get --watch`: prints the existing objects, then each change, until it is interrupted. */
async function watch(session: Session, line: KubectlLine, { known, names, namespace }: Named): Promise<void> {
  const format = text(line, "output");
  if (format === undefined || format === "wide") throw unknown("get --watch", "kubectlNeedsOutput");
  const { context, client, signal } = session;
  const path = pathOf(known, namespace);
  const fieldSelector = names.length === 0 ? text(line, "field-selector") : `metadata.name=${names[0]}`;
  // Without a resourceVersion, a watch starts with the existing objects.
  for await (const { type, object } of client.watch(
    path,
    { fieldSelector, labelSelector: text(line, "selector") },
    signal,
  )) {
    if (type === "BOOKMARK" || type === "ERROR") continue;
    context.streams.stdout.write(objectText(object, format, [nameOf(known, object.metadata?.name ?? "")]));
  }
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

/** `kubectl describe`, shortened: the object's fields, then its events. */
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
      const { conditions, ...status } = (rest as { status?: { conditions?: unknown } }).status ?? {};
      out += stringify({ Name: name, Metadata: facts, ...rest, status }, { lineWidth: 0 });
      out += conditionsText(conditions) + taintsText(rest);
      out += await eventsOf(session, known.kind, name);
    }
  }
  return out;
}

const CONDITION_FIELDS = ["type", "status", "reason", "message"] as const;

function conditionsText(conditions: unknown): string {
  if (!Array.isArray(conditions) || conditions.length === 0) return "";
  const columnDefinitions = CONDITION_FIELDS.map((name) => ({ name, priority: 0 }));
  const rows = (conditions as Record<string, unknown>[]).map((one) => ({
    cells: CONDITION_FIELDS.map((field) => one[field] ?? ""),
  }));
  return `Conditions:\n${indented(tableText({ columnDefinitions, rows }, { wide: false, headers: true, namespaces: false }))}\n`;
}

function taintsText(object: unknown): string {
  const { taints } = (object as { spec?: { taints?: unknown } }).spec ?? {};
  if (!Array.isArray(taints)) return "";
  const lines = (taints as { key: string; value?: string; effect: string }[]).map(
    ({ key, value, effect }) => `${key}${value === undefined || value === "" ? "" : `=${value}`}:${effect}`,
  );
  return `Taints:\n${indented(lines.join("\n"))}\n`;
}

const indented = (table: string): string => table.trimEnd().replace(/^/gm, "  ");

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
  return `Events:\n${indented(tableText(table, { wide: false, headers: true, namespaces: false }))}\n`;
}
