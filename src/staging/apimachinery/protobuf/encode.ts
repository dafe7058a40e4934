import { type Encode, Encoded, type Field, type FieldTable, type ScalarName } from "./fields.js";
import { BYTES, FIXED64, VARINT } from "./reader.js";
import type { Writer } from "./writer.js";

type Values = Readonly<Record<string, unknown>>;
/** Writes one field; omits absent and zero values. */
type WriteField = (writer: Writer, value: unknown) => void;

/** Builds the encoder of one message. Fields are written in the order of their numbers, like in Go. */
export function compileEncoder(fields: FieldTable): Encode {
  const rows = Object.entries(fields)
    .sort(([, a], [, b]) => b.number - a.number)
    .map(([name, field]) => [name, writeField(field)] as const);
  return (writer, value) => {
    for (const [name, write] of rows) {
      const item = value[name];
      if (item !== undefined) write(writer, item);
    }
  };
}

function writeField(field: Field): WriteField {
  const { kind, number } = field;
  const tag = (number << 3) | wireTypeOf(field);
  if (kind.type === "map") return writeMap(tag);
  if (kind.type === "message") {
    const { of } = kind;
    const write = (writer: Writer, value: unknown): void => {
      const before = writer.length;
      if (value instanceof Encoded) writer.raw(value.bytes);
      else of.encoder(writer, value as Values);
      writer.uint32(writer.length - before);
      writer.uint32(tag);
    };
    return field.isRepeated ? eachBackwards(write) : write;
  }
  const scalar = kind.type === "enum" ? "int32" : kind.scalar;
  const write = WRITERS[scalar];
  if (!field.isRepeated) {
    return (writer, value) => {
      if (isZero(value)) return;
      write(writer, value);
      writer.uint32(tag);
    };
  }
  return wireTypeOf(field) === BYTES && kind.type === "scalar" && isText(kind.scalar)
    ? eachBackwards((writer, value) => {
        write(writer, value);
        writer.uint32(tag);
      })
    : writePacked(tag, write);
}

function isText(scalar: ScalarName): boolean {
  return scalar === "string" || scalar === "bytes";
}

function wireTypeOf({ kind, isRepeated }: Field): number {
  if (isRepeated || kind.type === "message" || kind.type === "map") return BYTES;
  if (kind.type === "enum") return VARINT;
  if (isText(kind.scalar)) return BYTES;
  return kind.scalar === "double" ? FIXED64 : VARINT;
}

const WRITERS: Readonly<Record<ScalarName, WriteField>> = {
  string: (writer, value) => writer.string(value as string),
  bool: (writer, value) => writer.uint32(value === true ? 1 : 0),
  int32: (writer, value) => writer.int32(value as number),
  uint32: (writer, value) => writer.uint32(value as number),
  int64: (writer, value) => writer.int64(value as bigint | number),
  uint64: (writer, value) => writer.int64(value as bigint | number),
  double: (writer, value) => writer.double(value as number),
  bytes: (writer, value) => writer.bytes(value as Uint8Array),
};

function isZero(value: unknown): boolean {
  // Protobuf distinguishes minus zero from zero; we do not.
  return (
    value === "" ||
    value === 0 ||
    value === false ||
    value === 0n ||
    (value instanceof Uint8Array && value.length === 0)
  );
}

function eachBackwards(write: WriteField): WriteField {
  return (writer, value) => {
    const list = value as readonly unknown[];
    for (let i = list.length - 1; i >= 0; i--) write(writer, list[i]);
  };
}

/** proto3 packs lists of numbers into one run of bytes. */
function writePacked(tag: number, write: WriteField): WriteField {
  const each = eachBackwards(write);
  return (writer, value) => {
    if ((value as readonly unknown[]).length === 0) return;
    const before = writer.length;
    each(writer, value);
    writer.uint32(writer.length - before);
    writer.uint32(tag);
  };
}

const KEY_TAG = (1 << 3) | BYTES;
const VALUE_TAG = (2 << 3) | BYTES;

/** An entry is a small message of key and value; both are always sent, like in Go. */
function writeMap(tag: number): WriteField {
  return (writer, value) => {
    const map = value as Readonly<Record<string, string>>;
    const keys = Object.keys(map);
    for (let i = keys.length - 1; i >= 0; i--) {
      const key = keys[i] as string;
      const before = writer.length;
      writer.string(map[key] as string);
      writer.uint32(VALUE_TAG);
      writer.string(key);
      writer.uint32(KEY_TAG);
      writer.uint32(writer.length - before);
      writer.uint32(tag);
    }
  };
}
