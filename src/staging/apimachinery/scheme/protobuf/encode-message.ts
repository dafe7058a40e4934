import type { Writer } from "../../protobuf/writer.js";
import { typeSchema } from "../catalogue.js";
import { compareBytes } from "../go-text.js";
import type { Field, FieldType, ScalarType } from "../schema.js";

type Json = Readonly<Record<string, unknown>>;

/**
 * Writes an object as a message, the last field first. Mirrors the generated MarshalToSizedBuffer methods of k8s.io/api:
 * fields in the order of their numbers, map keys sorted, and non-pointer fields written even if they are empty.
 */
export function writeMessage(writer: Writer, type: string, object: Json): void {
  for (const field of fieldsBackwards(type)) {
    if (field.inline && field.type.type === "object") {
      const { ref } = field.type;
      writer.field(field.protobuf, () => writeMessage(writer, ref, object));
    } else writeField(writer, field, object[field.name]);
  }
}

function writeField(writer: Writer, { type, pointer, protobuf }: Field, value: unknown): void {
  const isAbsent = value === undefined || value === null;
  if (type.type === "array") {
    for (const item of isAbsent ? [] : (value as unknown[]).toReversed()) {
      writeValue(writer, protobuf, type.items, item);
    }
  } else if (type.type === "map") {
    for (const [key, item] of isAbsent ? [] : entriesBackwards(value as Json)) {
      writer.field(protobuf, () => {
        writeValue(writer, 2, type.values, item ?? undefined);
        writer.textField(1, key);
      });
    }
  } else if (!isAbsent || (!pointer && type.type !== "bytes")) writeValue(writer, protobuf, type, value ?? undefined);
}

function entriesBackwards(map: Json): [string, unknown][] {
  return Object.entries(map).sort(([left], [right]) => compareBytes(right, left));
}

function writeValue(writer: Writer, number: number, type: FieldType, value: unknown): void {
  switch (type.type) {
    case "object":
      writer.field(number, () => writeMessage(writer, type.ref, (value ?? {}) as Json));
      break;
    case "array":
      writer.field(number, () => {
        for (const item of ((value ?? []) as unknown[]).toReversed()) writeValue(writer, 1, type.items, item);
      });
      break;
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
      writer.field(number, () => writer.raw(Buffer.from(String(value ?? ""), "base64")));
      break;
    default:
      writer.field(number, () => writeScalar(writer, type.type, value));
      break;
  }
}

/** Values that JSON writes as a single value and protobuf as a message. */
function writeScalar(writer: Writer, type: ScalarType, value: unknown): void {
  if (value === undefined || value === null) {
    if (type === "quantity" || type === "resourceQuantity") writer.textField(1, "0");
    if (type !== "intOrString") return;
  }
  if (type === "time" || type === "microtime") {
    const text = String(value);
    const micros = /\.(\d{6})Z$/.exec(text)?.[1] ?? "0";
    writer.varintField(2, Number(micros) * 1000);
    writer.varintField(1, Math.floor(Date.parse(text) / 1000));
  } else if (type === "intOrString") {
    const isText = typeof value === "string";
    writer.textField(3, isText ? value : "");
    writer.varintField(2, isText ? 0 : Number(value ?? 0));
    writer.varintField(1, isText ? 1 : 0);
  } else writer.textField(1, type === "any" ? JSON.stringify(value) : String(value));
}

/** By type, built on first use from constants. */
const backwards = new Map<string, readonly Field[]>();

function fieldsBackwards(type: string): readonly Field[] {
  let fields = backwards.get(type);
  if (fields === undefined) {
    fields = typeSchema(type)
      .fields.filter(({ protobuf }) => protobuf > 0)
      .sort((left, right) => right.protobuf - left.protobuf);
    backwards.set(type, fields);
  }
  return fields;
}
