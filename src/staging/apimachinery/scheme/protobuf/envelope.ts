import type { KubeObject } from "../../api/meta.js";
import { internalError, type StatusError } from "../../errors.js";
import { BYTES, ProtobufError, Reader } from "../../protobuf/reader.js";
import { Writer } from "../../protobuf/writer.js";
import { decodeWalking, isDecodingError } from "../decode.js";
import { cannotBeHandled, unrecognized } from "../request.js";
import type { DecodedBody, KindRef } from "../schema.js";
import { checkGroupVersionKind, checkMetaKind, typeNameOf } from "../scheme.js";
import { decodeMessage } from "./decode-message.js";
import { writeMessage } from "./encode-message.js";

/**
 * Kubernetes' protobuf: the four bytes `k8s\0`, then a runtime.Unknown with kind and apiVersion around the object's
 * message. Mirrors k8s.io/apimachinery/pkg/runtime/serializer/protobuf/protobuf.go.
 */
const MAGIC = Buffer.from("k8s\0");

/**
 * Decodes a request's body. Unknown protobuf fields cause no warnings.
 * @throws StatusError 400
 */
export function decodeProtobufBody(bytes: Buffer, kind: KindRef): DecodedBody {
  if (bytes.length === 0) throw unrecognized(kind, "empty data", bytes);
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) {
    const prefix = `[${[...MAGIC].join(" ")}]`;
    throw unrecognized(
      kind,
      `provided data does not appear to be a protobuf message, expected prefix ${prefix}`,
      bytes,
    );
  }
  const { apiVersion, typeName, raw } = readEnvelope(bytes, (problem) => unrecognized(kind, problem, bytes));
  const slash = apiVersion.indexOf("/");
  const group = apiVersion === "" ? kind.group : apiVersion.slice(0, Math.max(slash, 0));
  const version = apiVersion === "" ? kind.version : apiVersion.slice(slash + 1);
  const actual = { group, version, kind: typeName || kind.kind };
  const wrongKind = checkGroupVersionKind(actual, kind);
  if (wrongKind !== undefined) throw wrongKind;
  try {
    const value = { kind: typeName, apiVersion, ...decodeMessage(kind.schema, raw) };
    return { object: decodeWalking(kind.schema, value, { unknown: false, keys: 0 }), warnings: [], sent: value };
  } catch (error) {
    if (error instanceof ProtobufError || isDecodingError(error)) throw cannotBeHandled(actual, kind, error.message);
    throw error;
  }
}

/**
 * Decodes a stored value with the fields that `schemaOf` names for its kind and version, without defaults.
 * @throws StatusError, ProtobufError
 */
export function readStoredProtobuf(
  bytes: Buffer,
  schemaOf: (apiVersion: string, kind: string) => string,
): Readonly<Record<string, unknown>> {
  const { apiVersion, typeName: kind, raw } = readEnvelope(bytes, internalError);
  return { kind, apiVersion, ...decodeMessage(schemaOf(apiVersion, kind), raw) };
}

/**
 * Decodes the options in the body of a DELETE, as Go clients (kubelets, controllers) send them.
 * @throws StatusError 500 for a body that is not DeleteOptions, as for JSON
 */
export function decodeProtobufDeleteOptions(bytes: Buffer): KubeObject {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw internalError("the body is not a protobuf message");
  const { apiVersion, typeName, raw } = readEnvelope(bytes, internalError);
  const wrongKind = checkMetaKind({ group: "", version: apiVersion, kind: typeName }, "DeleteOptions");
  if (wrongKind !== undefined) throw wrongKind;
  try {
    return { kind: typeName, apiVersion, metadata: {}, ...decodeMessage("DeleteOptions", raw) };
  } catch (error) {
    if (error instanceof ProtobufError) throw internalError(error.message);
    throw error;
  }
}

interface Envelope {
  readonly apiVersion: string;
  readonly typeName: string;
  readonly raw: Buffer;
}

function readEnvelope(bytes: Buffer, fail: (problem: string) => StatusError): Envelope {
  try {
    const unknown = readChunks(bytes.subarray(MAGIC.length));
    const typeMeta = readChunks(unknown.get(1) ?? Buffer.alloc(0));
    return {
      apiVersion: typeMeta.get(1)?.toString() ?? "",
      typeName: typeMeta.get(2)?.toString() ?? "",
      raw: unknown.get(2) ?? Buffer.alloc(0),
    };
  } catch (error) {
    if (error instanceof ProtobufError) throw fail(error.message);
    throw error;
  }
}

function readChunks(bytes: Buffer): Map<number, Buffer> {
  const reader = new Reader(bytes);
  const chunks = new Map<number, Buffer>();
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag();
    if (wireType === BYTES) chunks.set(number, reader.chunk());
    else reader.skip(wireType);
  }
  return chunks;
}

/**
 * Encodes an object, a list or a Status for a client that only reads protobuf.
 * @returns undefined for a kind without a protobuf form (tables) or without a type table
 */
export function encodeProtobuf(object: object): Buffer | undefined {
  const { apiVersion, kind, items } = object as Partial<KubeObject>;
  if (apiVersion === undefined || kind === undefined) return undefined;
  const isList = Array.isArray(items);
  const type = isList ? itemTypeOf(apiVersion, kind) : typeNameOf(apiVersion, kind);
  if (type === undefined) return undefined;
  const writer = new Writer();
  writeNoEncoding(writer);
  writer.field(2, () => {
    if (isList) writeList(writer, type, object as List);
    else writeMessage(writer, type, object as Fields);
  });
  writeTypeMeta(writer, apiVersion, kind);
  return writer.finish();
}

/**
 * Encodes a list item by item, in turns.
 * @param head its kind, apiVersion and metadata
 * @returns its parts in order; "none" for a kind without a protobuf form; undefined when `isGone` becomes true
 */
export async function encodeProtobufList(
  head: Readonly<Record<string, unknown>>,
  items: Iterable<object>,
  turns: { next(): Promise<void> | undefined },
  isGone: () => boolean,
): Promise<readonly Buffer[] | "none" | undefined> {
  const { apiVersion = "", kind = "", metadata } = head as Partial<KubeObject>;
  const type = itemTypeOf(apiVersion, kind);
  if (type === undefined) return "none";
  const parts: Buffer[] = [];
  let bytes = 0;
  for (const item of items) {
    const writer = new Writer();
    writer.field(2, () => writeMessage(writer, type, item as Fields));
    parts.push(writer.finish());
    bytes += writer.length;
    await turns.next();
    if (isGone()) return undefined;
  }
  const start = new Writer();
  start.field(1, () => writeMessage(start, "ListMeta", { ...metadata }));
  start.uint32(bytes + start.length);
  start.uint32((2 << 3) | BYTES);
  writeTypeMeta(start, apiVersion, kind);
  const end = new Writer();
  writeNoEncoding(end);
  return [start.finish(), ...parts, end.finish()];
}

function itemTypeOf(apiVersion: string, listKind: string): string | undefined {
  return listKind.endsWith("List") ? typeNameOf(apiVersion, listKind.slice(0, -"List".length)) : undefined;
}

/** The fields after the object: contentEncoding and contentType. */
function writeNoEncoding(writer: Writer): void {
  writer.textField(4, "");
  writer.textField(3, "");
}

/** The fields before the object. */
function writeTypeMeta(writer: Writer, apiVersion: string, kind: string): void {
  writer.field(1, () => {
    writer.textField(2, kind);
    writer.textField(1, apiVersion);
  });
  writer.raw(MAGIC);
}

type Fields = Readonly<Record<string, unknown>>;

interface List {
  readonly metadata?: object;
  readonly items: readonly object[];
}

function writeList(writer: Writer, type: string, { metadata, items }: List): void {
  for (const item of items.toReversed()) writer.field(2, () => writeMessage(writer, type, item as Fields));
  writer.field(1, () => writeMessage(writer, "ListMeta", { ...metadata }));
}
