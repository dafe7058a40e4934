import type { StorageCodec } from "../../cluster/apiserver/storage/etcd/codec.js";
import { UndecodableError } from "../../cluster/apiserver/storage/etcd/errors.js";
import type { KeyValue } from "../../cluster/apiserver/storage/etcd/messages.js";
import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { Change } from "../../trace/events.js";
import { redactBody } from "../../trace/redaction/redact-body.js";
import { redactText } from "../../trace/redaction/redact-text.js";
import { alignedLines } from "../../trace/terminal/table.js";
import { wrap } from "../../trace/terminal/text.js";
import { defined } from "../../util/defined.js";
import { counted } from "../../util/text/counted.js";

/** A key of etcd with its decoded value. */
export interface ShownKey {
  readonly key: string;
  readonly createRevision: number;
  readonly modRevision: number;
  /** how many times it was written since it was created */
  readonly version: number;
  /** in hexadecimal digits, as etcdctl prints it */
  readonly lease?: string;
}

/** Masks the secrets of a value, unless the user wants them. */
export interface ShownValue {
  /** `JSON`, `protobuf`, `text`, `encrypted by aescbc`, `binary` */
  readonly format: string;
  readonly bytes: number;
  readonly object?: KubeObject;
  readonly text?: string;
  /** the reason if there is no object */
  readonly problem?: string;
}

/** Not masked: keys and revisions. */
export function shownKey({ key, createRevision, modRevision, version, lease }: KeyValue): ShownKey {
  return {
    key: key.toString(),
    createRevision: Number(createRevision),
    modRevision: Number(modRevision),
    version: Number(version),
    ...defined({ lease: lease === 0n ? undefined : BigInt.asUintN(64, lease).toString(16) }),
  };
}

const ENCRYPTED = /^k8s:enc:(\w+):/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: their presence means that a value is no text
const BINARY = /[\u0000-\u0008\u000e-\u001f\ufffd]/;

/** Decodes a value. The codec must be prepared for it. */
export function shownValue(codec: StorageCodec, { key, value }: KeyValue, showsSecrets: boolean): ShownValue {
  const bytes = value.length;
  const beginning = value.subarray(0, 64).toString("latin1");
  const format = beginning.startsWith("k8s\0") ? "protobuf" : beginning.startsWith("{") ? "JSON" : undefined;
  const provider = ENCRYPTED.exec(beginning)?.[1];
  if (provider !== undefined) return { format: `encrypted by ${provider}`, bytes };
  if (format === undefined) {
    const text = value.toString();
    if (BINARY.test(text)) return { format: "binary", bytes };
    return { format: "text", bytes, text: showsSecrets ? text : redactText(text) };
  }
  try {
    // Also reports values that API servers cannot read.
    codec.decode(key.toString(), value);
    const object = codec.asStored(key.toString(), value);
    return { format, bytes, object: showsSecrets ? object : (redactBody(object) as KubeObject) };
  } catch (error) {
    if (!(error instanceof UndecodableError)) throw error;
    return { format, bytes, ...otherJson(value, format, showsSecrets), problem: error.why };
  }
}

/** JSON that is not a Kubernetes object. */
function otherJson(value: Buffer, format: string, showsSecrets: boolean): Pick<ShownValue, "text"> {
  if (format !== "JSON") return {};
  try {
    const parsed: unknown = JSON.parse(value.toString());
    return { text: JSON.stringify(showsSecrets ? parsed : redactBody(parsed), null, 2) };
  } catch {
    return {};
  }
}

/** `create_revision 12, mod_revision 40, version 3, lease 694d8f0a1` */
export function revisionsText({ createRevision, modRevision, version, lease }: ShownKey): string {
  const leased = lease === undefined ? "no lease" : `lease ${lease}`;
  return `create_revision ${createRevision}, mod_revision ${modRevision}, version ${version}, ${leased}`;
}

/** `JSON, 812 bytes: a Pod of v1` */
export function valueText({ format, bytes, object, problem }: ShownValue): string {
  const what = object === undefined ? (problem ?? "") : `a ${object.kind} of ${object.apiVersion}`;
  return `${format}, ${counted(bytes, "byte")}${what === "" ? "" : `: ${what}`}`;
}

/** `replace /data/x "3"` */
export function patchLines(changes: readonly Change[]): string[] {
  return changes.map(({ op, path, value }) => `${op} ${path}${value === undefined ? "" : ` ${JSON.stringify(value)}`}`);
}

/** One line per key. The key is last because it is the longest part; a narrow terminal wraps it in its own column. */
export function keyTable(keys: readonly ShownKey[], columns: number): string[] {
  const numbers = keys.map(({ createRevision, modRevision, version }) =>
    [createRevision, modRevision, version].map(String),
  );
  const lines = alignedLines([["CREATE", "MOD", "VERSION"], ...numbers]);
  const left = Math.max(...lines.map(({ length }) => length)) + 2;
  const names = keys.map(({ key, lease }) => (lease === undefined ? key : `${key} (lease ${lease})`));
  return ["KEY", ...names].flatMap((name, row) =>
    wrap(name, columns - left, { cutsPaths: true }).map(
      (part, i) => ((i === 0 && lines[row]) || "").padEnd(left) + part,
    ),
  );
}
