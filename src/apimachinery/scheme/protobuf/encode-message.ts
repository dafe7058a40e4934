import { typeSchema } from "../catalogue.js";
import { compareBytes } from "../go-text.js";
import type { Field, FieldType, ScalarType } from "../schema.js";
import { WireWriter } from "./wire-writer.js";

type Json = Readonly<Record<string, unknown>>;

/**
 * Encodes an object as a message. Mirrors the generated Marshal methods of k8s.io/api: fields in the order of their
 * numbers, map keys sorted, and non-pointer fields written even if they are empty.
 */
export function encodeMessage(type: string, object: Json): Buffer {
  const writer = new WireWriter();
  for (const field of fieldsInOrder(type)) {
    if (field.inline && field.type.type === "object") {
      writer.bytesField(field.protobuf, encodeMessage(field.type.ref, object));
    } else writeField(writer, field, object[field.name]);
  }
  return writer.finish();
}

function writeField(writer: WireWriter, { type, pointer, protobuf }: Field, value: unknown): void {
  const isAbsent = value === undefined || value === null;
  if (type.type === "array") {
    for (const item of isAbsent ? [] : (value as unknown[])) writeValue(writer, protobuf, type.items, item);
  } else if (type.type === "map") {
    for (const entry of isAbsent ? [] : sortedEntries(value as Json)) {
      writer.bytesField(protobuf, encodeEntry(type.values, entry));
    }
  } else if (!isAbsent || (!pointer && type.type !== "bytes")) writeValue(writer, protobuf, type, value ?? undefined);
}

function sortedEntries(map: Json): [string, unknown][] {
  return Object.entries(map).sort(([left], [right]) => compareBytes(left, right));
}

function encodeEntry(values: FieldType, [key, value]: readonly [string, unknown]): Buffer {
  const entry = new WireWriter();
  entry.textField(1, key);
  writeValue(entry, 2, values, value ?? undefined);
  return entry.finish();
}

function writeValue(writer: WireWriter, number: number, type: FieldType, value: unknown): void {
  switch (type.type) {
    case "object":
      writer.bytesField(number, encodeMessage(type.ref, (value ?? {}) as Json));
      break;
    case "array": {
      const items = new WireWriter();
      for (const item of (value ?? []) as unknown[]) writeValue(items, 1, type.items, item);
      writer.bytesField(number, items.finish());
      break;
    }
    case "map":
      throw new Error("no Kubernetes type has a map inside a list or a map");
    case "boolean":
      writer.varintField(number, value === true ? 1 : 0);
      break;
    case "int32":
    case "int64":
      writer.varintField(number, BigInt(Number(value ?? 0)));
      break;
    case "string":
      writer.textField(number, String(value ?? ""));
      break;
    case "bytes":
      writer.bytesField(number, Buffer.from(String(value ?? ""), "base64"));
      break;
    default:
      writer.bytesField(number, encodeScalar(type.type, value));
      break;
  }
}

/** Values that JSON writes as a single value and protobuf as a message. */
function encodeScalar(type: ScalarType, value: unknown): Buffer {
  const message = new WireWriter();
  if (value === undefined || value === null) {
    if (type === "quantity" || type === "resourceQuantity") message.textField(1, "0");
    if (type !== "intOrString") return message.finish();
  }
  if (type === "time" || type === "microtime") {
    const text = String(value);
    const micros = /\.(\d{6})Z$/.exec(text)?.[1] ?? "0";
    message.varintField(1, Math.floor(Date.parse(text) / 1000));
    message.varintField(2, Number(micros) * 1000);
  } else if (type === "intOrString") {
    const isText = typeof value === "string";
    message.varintField(1, isText ? 1 : 0);
    message.varintField(2, isText ? 0 : Number(value ?? 0));
    message.textField(3, isText ? value : "");
  } else message.textField(1, type === "any" ? JSON.stringify(value) : String(value));
  return message.finish();
}

/** Encoders by type, built on first use from constants. */
const ordered = new Map<string, readonly Field[]>();

function fieldsInOrder(type: string): readonly Field[] {
  let fields = ordered.get(type);
  if (fields === undefined) {
    fields = typeSchema(type)
      .fields.filter(({ protobuf }) => protobuf > 0)
      .sort((left, right) => left.protobuf - right.protobuf);
    ordered.set(type, fields);
  }
  return fields;
}
