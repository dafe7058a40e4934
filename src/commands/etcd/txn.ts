import type { ResourceDefinition } from "../../cluster/apiserver/registry/rest/definition.js";
import { timestamp } from "../../cluster/apiserver/registry/rest/object-meta.js";
import { RESOURCES } from "../../cluster/apiserver/registry/table.js";
import type { KeyValue, RequestOp } from "../../cluster/apiserver/storage/etcd/messages.js";
import { conditional } from "../../cluster/apiserver/storage/etcd/requests.js";
import { RANGE, TXN } from "../../cluster/apiserver/storage/etcd/rpcs.js";
import { resourceKeys } from "../../cluster/apiserver/storage/keys.js";
import { readObjects } from "../../lab/kubectl/files.js";
import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import { groupVersion } from "../../staging/apimachinery/api/resource.js";
import { jsonDiff } from "../../staging/apimachinery/patch/json-diff.js";
import { redactBody } from "../../trace/redaction/redact-body.js";
import { SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import type { Say } from "../../util/i18n/sentences.js";
import type { CliContext } from "../cli/context.js";
import { answered, keyFrom, type OpenedEtcd, openEtcd, TIMEOUT_MS, type WhichEtcd } from "./open.js";
import { patchLines, revisionsText, shownKey, shownValue } from "./value.js";

export interface TxnOptions {
  readonly filename?: string;
  readonly delete?: boolean;
  readonly ifRev?: number;
  readonly write?: boolean;
  readonly showSecrets?: boolean;
}

/** What the transaction does if its compare holds. */
interface Wanted {
  readonly key: string;
  /** undefined: the key is deleted */
  readonly object: KubeObject | undefined;
}

const HINT = "For example: kubelab etcd txn -f configmap.yaml, or kubelab etcd txn KEY --delete.";

/**
 * Shows the transaction with which kube-apiserver writes a key: a compare with its mod_revision, and both branches. Runs it with --write.
 * @throws LabError USAGE, BAD_FILE; as `openEtcd`
 */
export async function runTxn(
  context: CliContext,
  word: string | undefined,
  options: TxnOptions & WhichEtcd,
): Promise<void> {
  const wanted = await wantedOf(context, word, options);
  await using etcd = await openEtcd(context, options);
  const { key } = wanted;
  const bytes = Buffer.from(key);
  const current = (await answered(etcd.client.call(RANGE, { key: bytes }, { timeoutMs: TIMEOUT_MS }))).kvs[0];
  const modRevision = options.ifRev ?? Number(current?.modRevision ?? 0);
  if (wanted.object === undefined && modRevision === 0) {
    throw new LabError("FAILED", `etcd has no key ${key}: there is nothing to delete`, HINT);
  }
  if (current !== undefined) await etcd.codec.prepare([current]);
  const object = wanted.object && withServerFields(context, etcd, wanted.object, current);
  const value = object === undefined ? undefined : etcd.codec.encode(object);
  const success: RequestOp =
    value === undefined ? { requestDeleteRange: { key: bytes } } : { requestPut: { key: bytes, value } };
  const shown = [
    `transaction on ${key}`,
    `  if    mod_revision = ${modRevision}${modRevision === 0 ? " (no such key)" : ""}`,
    `  then  ${value === undefined ? "delete the key" : `put ${value.length} bytes of JSON`}`,
    `  else  ${modRevision === 0 ? "nothing (kube-apiserver answers 409 AlreadyExists)" : "get the key, for another attempt"}`,
    ...changeLines(etcd, object, current, options),
    current === undefined ? "etcd has no such key now" : `etcd has ${revisionsText(shownKey(current))}`,
  ];
  const plan = { key, ifModRevision: modRevision, write: value === undefined ? "delete" : "put" };
  const holds = Number(current?.modRevision ?? 0) === modRevision;
  if (options.write !== true) {
    const end = `The compare ${holds ? "holds" : "fails"} now. Nothing was written: --write runs the transaction.`;
    return context.print({ text: textOf(shown, end), json: { ...plan, holds, isWritten: false } });
  }
  const request = conditional(key, modRevision, success);
  const { succeeded, header } = await answered(etcd.client.call(TXN, request, { timeoutMs: TIMEOUT_MS }));
  const revision = Number(header?.revision ?? 0);
  const end = succeeded
    ? `then: done at revision ${revision}`
    : "else: the compare failed, and nothing was written; kube-apiserver tries again\n      with the version that it got";
  context.print({
    text: textOf(shown, end),
    json: { ...plan, holds: succeeded, isWritten: succeeded, revision },
  });
  if (!succeeded) context.exitWith(1);
}

/** Translates all lines except paths and values of changes. */
function textOf(shown: readonly string[], end: string): (say: Say) => string {
  return (say) =>
    [...shown, ...end.split("\n")].map((line) => (line.startsWith("        ") ? line : say(line))).join("\n");
}

async function wantedOf(context: CliContext, word: string | undefined, options: TxnOptions): Promise<Wanted> {
  const { filename, delete: deletes = false } = options;
  if ((filename === undefined) === !deletes) {
    throw new LabError("USAGE", "a transaction puts a file or deletes a key: give -f or --delete", HINT);
  }
  if (filename === undefined) {
    if (word === undefined) throw new LabError("USAGE", "--delete needs a key", HINT);
    return { key: keyFrom(word), object: undefined };
  }
  const [object, ...others] = await readObjects(context, [filename], "USAGE");
  if (object === undefined || others.length > 0) {
    throw new LabError("BAD_FILE", `${filename} has ${others.length + 1} objects, and a transaction puts one`, HINT);
  }
  const own = placed(object, filename);
  if (word !== undefined && keyFrom(word) !== own.key) {
    throw new LabError("USAGE", `the object in ${filename} belongs at ${own.key}, not at ${keyFrom(word)}`, HINT);
  }
  return own;
}

/** The object with its namespace, and its key. @throws LabError BAD_FILE for an object that no API server would keep */
function placed(object: KubeObject, file: string): Wanted {
  const { apiVersion, kind, metadata } = object;
  const isOf = ({ group, version, ...row }: ResourceDefinition) =>
    row.kind === kind && groupVersion({ group, version }) === apiVersion;
  const row = RESOURCES.find((one) => isOf(one) && one.virtual !== true && one.storedAs === undefined);
  if (row === undefined) {
    throw new LabError("BAD_FILE", `${file} has a ${kind} of ${apiVersion}, which has no place in etcd here`, HINT);
  }
  const { name = "", namespace = "default" } = metadata ?? {};
  if (name === "") throw new LabError("BAD_FILE", `the ${kind} in ${file} has no name`, "Set metadata.name.");
  const placedMeta = { ...metadata, ...(row.namespaced ? { namespace } : {}) };
  return { key: resourceKeys(row).key(namespace, name), object: { ...object, metadata: placedMeta } };
}

/** The fields that an API server adds to an object, or keeps from the current one. Mirrors FillObjectMetaSystemFields and BeforeUpdate. */
function withServerFields(
  { random }: CliContext,
  { codec }: OpenedEtcd,
  object: KubeObject,
  current: KeyValue | undefined,
): KubeObject {
  const before = current && shownValue(codec, current, true).object;
  const {
    uid = random.uuid(),
    creationTimestamp = timestamp(new SystemClock().now()),
    generation,
  } = before?.metadata ?? {};
  const status = before?.["status"];
  const metadata = { ...object.metadata, ...defined({ uid, creationTimestamp, generation }) };
  return { ...object, metadata, ...(object["status"] === undefined ? defined({ status }) : {}) };
}

/** The changes of the put to the current object; all fields of a new one. */
function changeLines(
  { codec }: OpenedEtcd,
  object: KubeObject | undefined,
  current: KeyValue | undefined,
  { showSecrets = false }: TxnOptions,
): string[] {
  if (object === undefined) return [];
  const before = current && shownValue(codec, current, showSecrets).object;
  const after = showSecrets ? object : redactBody(object);
  return patchLines(jsonDiff(before ?? {}, after)).map((line) => `        ${line}`);
}
