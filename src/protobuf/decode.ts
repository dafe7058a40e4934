import type { Field, FieldTable, ScalarName } from "./fields.js";
import { BYTES, FIXED64, ProtobufError, type Reader, VARINT } from "./reader.js";

type Values = Record<string, unknown>;
/** Reads fields up to `reader.end` into `target`, or into a new object. */
export type Decode = (reader: Reader, target: Values | undefined) => Values;
/** Reads one field's value, its tag already read, into `out`. */
type ReadField = (reader: Reader, out: Values, wireType: number) => void;

/** Makes the decoder of one message: an array of functions by field number. */
export function compileDecoder(fields: FieldTable): Decode {
  const byNumber: (ReadField | undefined)[] = [];
  const blank: Values = {};
  for (const [name, field] of Object.entries(fields)) {
    byNumber[field.number] = readField(name, field);
    blank[name] = zeroOf(field);
  }
  const lists = Object.keys(fields).filter((name) => fields[name]?.isRepeated);
  const maps = Object.keys(fields).filter((name) => fields[name]?.kind.type === "map");
  return (reader, target) => {
    const out = target ?? { ...blank };
    if (target === undefined) {
      for (const name of lists) out[name] = [];
      for (const name of maps) out[name] = {};
    }
    const end = reader.end;
    while (reader.at < end) {
      const tag = reader.uint32();
      const read = byNumber[tag >>> 3];
      if (read !== undefined) read(reader, out, tag & 7);
      else if (tag >>> 3 === 0) throw new ProtobufError(`proto: illegal tag 0 (wire type ${tag})`);
      else reader.skip(tag & 7);
    }
    return out;
  };
}

function zeroOf({ isRepeated, kind }: Field): unknown {
  if (isRepeated || kind.type === "message" || kind.type === "map") return undefined;
  return kind.type === "enum" ? 0 : ZEROS[kind.scalar];
}

const ZEROS: Readonly<Record<ScalarName, unknown>> = {
  string: "",
  bool: false,
  int32: 0,
  uint32: 0,
  int64: 0n,
  uint64: 0n,
  double: 0,
  bytes: Buffer.alloc(0),
};

function readField(name: string, field: Field): ReadField {
  const { kind } = field;
  if (kind.type === "message") return field.isRepeated ? readMessages(name, kind.of) : readMessage(name, kind.of);
  if (kind.type === "map") return readMap(name, kind.only);
  const scalar = kind.type === "enum" ? "int32" : kind.scalar;
  return field.isRepeated ? readScalars(name, scalar) : readScalar(name, scalar);
}

const READERS: Readonly<Record<ScalarName, (reader: Reader) => unknown>> = {
  string: (reader) => reader.string(),
  bool: (reader) => reader.bool(),
  int32: (reader) => reader.int32(),
  uint32: (reader) => reader.uint32(),
  int64: (reader) => reader.int64(),
  uint64: (reader) => reader.uint64(),
  double: (reader) => reader.double(),
  bytes: (reader) => reader.bytes(),
};

function wireTypeOf(scalar: ScalarName): number {
  if (scalar === "string" || scalar === "bytes") return BYTES;
  return scalar === "double" ? FIXED64 : VARINT;
}

function readScalar(name: string, scalar: ScalarName): ReadField {
  const read = READERS[scalar];
  const expected = wireTypeOf(scalar);
  return (reader, out, wireType) => {
    if (wireType !== expected) throw wrongWireType(name, wireType);
    out[name] = read(reader);
  };
}

/** Numbers come packed into one run of bytes, or one by one: a decoder takes both. */
function readScalars(name: string, scalar: ScalarName): ReadField {
  const read = READERS[scalar];
  const expected = wireTypeOf(scalar);
  return (reader, out, wireType) => {
    const list = out[name] as unknown[];
    if (wireType === expected) {
      list.push(read(reader));
      return;
    }
    if (wireType !== BYTES) throw wrongWireType(name, wireType);
    const length = reader.length();
    const end = reader.at + length;
    while (reader.at < end) list.push(read(reader));
    if (reader.at !== end) throw new ProtobufError("unexpected EOF");
  };
}

interface Nested {
  readonly decoder: Decode;
}

function readMessage(name: string, of: Nested): ReadField {
  return (reader, out, wireType) => {
    if (wireType !== BYTES) throw wrongWireType(name, wireType);
    // Sent twice, a message's parts are merged.
    out[name] = readNested(reader, of.decoder, out[name] as Values | undefined);
  };
}

function readMessages(name: string, of: Nested): ReadField {
  return (reader, out, wireType) => {
    if (wireType !== BYTES) throw wrongWireType(name, wireType);
    (out[name] as unknown[]).push(readNested(reader, of.decoder, undefined));
  };
}

function readNested(reader: Reader, decode: Decode, target: Values | undefined): Values {
  const length = reader.length();
  const outerEnd = reader.end;
  reader.end = reader.at + length;
  const value = decode(reader, target);
  reader.end = outerEnd;
  return value;
}

const KEY_TAG = (1 << 3) | BYTES;
const VALUE_TAG = (2 << 3) | BYTES;

/** Without `only` all keys; with it, an entry whose key is not wanted is stepped over: its value is not decoded. */
function readMap(name: string, only?: readonly string[]): ReadField {
  return (reader, out, wireType) => {
    if (wireType !== BYTES) throw wrongWireType(name, wireType);
    const length = reader.length();
    const end = reader.at + length;
    let key = "";
    let value = "";
    while (reader.at < end) {
      const tag = reader.uint32();
      if (tag === VALUE_TAG) value = reader.string();
      else if (tag !== KEY_TAG) reader.skip(tag & 7);
      else if (only === undefined) key = reader.key();
      else {
        const known = reader.keyAmong(only);
        if (known === undefined) {
          // Encoders write the key first: what is left is the value.
          reader.at = end;
          return;
        }
        key = known;
      }
    }
    if (reader.at !== end) throw new ProtobufError("unexpected EOF");
    if (only !== undefined && !only.includes(key)) return;
    setEntry(out[name] as Record<string, string>, key, value);
  };
}

function setEntry(map: Record<string, string>, key: string, value: string): void {
  // Assigned, this one name would be the object's prototype.
  if (key === "__proto__") Object.defineProperty(map, key, { value, enumerable: true, configurable: true });
  else map[key] = value;
}

function wrongWireType(name: string, wireType: number): ProtobufError {
  return new ProtobufError(`proto: wrong wireType = ${wireType} for field ${name}`);
}
