import type { Decode, Field, FieldTable, ScalarName } from "./fields.js";
import { BYTES, FIXED64, ProtobufError, type Reader, VARINT } from "./reader.js";

type Values = Record<string, unknown>;
/** Reads the value of one field into `out`; its tag has already been read. */
type ReadField = (reader: Reader, out: Values) => void;

/** Builds the decoder of one message: an array of functions by tag. */
export function compileDecoder(fields: FieldTable): Decode {
  const byTag: (ReadField | undefined)[] = [];
  const blank: Values = {};
  const names: (string | undefined)[] = [];
  for (const [name, field] of Object.entries(fields)) {
    for (const [wireType, read] of readField(name, field)) byTag[(field.number << 3) | wireType] = read;
    names[field.number] = name;
    blank[name] = zeroOf(field);
  }
  const lists = Object.keys(fields).filter((name) => fields[name]?.isRepeated);
  const maps = Object.keys(fields).filter((name) => fields[name]?.kind.type === "map");
  return (reader, target) => {
    const out = target ?? { ...blank };
    if (target === undefined) {
      for (let i = 0; i < lists.length; i++) out[lists[i] as string] = [];
      for (let i = 0; i < maps.length; i++) out[maps[i] as string] = {};
    }
    const end = reader.end;
    while (reader.at < end) {
      const tag = reader.uint32();
      const read = byTag[tag];
      if (read !== undefined) read(reader, out);
      else skipField(reader, tag, names[tag >>> 3]);
    }
    return out;
  };
}

/** @param name of the field, if its number is known but its wire type does not match */
function skipField(reader: Reader, tag: number, name: string | undefined): void {
  if (name !== undefined) throw new ProtobufError(`proto: wrong wireType = ${tag & 7} for field ${name}`);
  if (tag >>> 3 === 0) throw new ProtobufError(`proto: illegal tag 0 (wire type ${tag})`);
  reader.skip(tag & 7);
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

/** The wire types of a field, and the reader for each. */
type Forms = readonly (readonly [wireType: number, read: ReadField])[];

function readField(name: string, field: Field): Forms {
  const { kind } = field;
  if (kind.type === "message") {
    return [[BYTES, field.isRepeated ? readMessages(name, kind.of) : readMessage(name, kind.of)]];
  }
  if (kind.type === "map") return [[BYTES, kind.only === undefined ? readMap(name) : readMapOf(name, kind.only)]];
  const scalar = kind.type === "enum" ? "int32" : kind.scalar;
  if (field.isRepeated) return readScalars(name, scalar);
  return [[wireTypeOf(scalar), readScalar(name, scalar)]];
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
  // Strings are by far the most common fields.
  if (scalar === "string") {
    return (reader, out) => {
      out[name] = reader.string();
    };
  }
  const read = READERS[scalar];
  return (reader, out) => {
    out[name] = read(reader);
  };
}

/** Repeated numbers are packed into one run of bytes or sent one by one; a decoder accepts both. */
function readScalars(name: string, scalar: ScalarName): Forms {
  const read = READERS[scalar];
  const one: ReadField = (reader, out) => {
    (out[name] as unknown[]).push(read(reader));
  };
  const packed: ReadField = (reader, out) => {
    const list = out[name] as unknown[];
    const length = reader.length();
    const end = reader.at + length;
    while (reader.at < end) list.push(read(reader));
    if (reader.at !== end) throw new ProtobufError("unexpected EOF");
  };
  const wireType = wireTypeOf(scalar);
  return wireType === BYTES
    ? [[BYTES, one]]
    : [
        [BYTES, packed],
        [wireType, one],
      ];
}

interface Nested {
  readonly decoder: Decode;
}

function readMessage(name: string, of: Nested): ReadField {
  return (reader, out) => {
    // A message that is sent twice is merged.
    out[name] = readNested(reader, of.decoder, out[name] as Values | undefined);
  };
}

function readMessages(name: string, of: Nested): ReadField {
  return (reader, out) => {
    (out[name] as unknown[]).push(readNested(reader, of.decoder, undefined));
  };
}

function readNested(reader: Reader, decode: Decode, target: Values | undefined): Values {
  const length = reader.nestedLength();
  const outerEnd = reader.end;
  reader.end = reader.at + length;
  const value = decode(reader, target);
  reader.end = outerEnd;
  return value;
}

const KEY_TAG = (1 << 3) | BYTES;
const VALUE_TAG = (2 << 3) | BYTES;

function readMap(name: string): ReadField {
  return (reader, out) => {
    const end = reader.length() + reader.at;
    readEntry(reader, end, out[name] as Record<string, string>, "", undefined);
  };
}

/** Decodes only entries with these keys and skips the values of others. */
function readMapOf(name: string, only: readonly string[]): ReadField {
  const byLength: (readonly string[])[] = [];
  for (const key of only) {
    const length = Buffer.byteLength(key);
    byLength[length] = [...(byLength[length] ?? []), key];
  }
  return (reader, out) => {
    const end = reader.length() + reader.at;
    let key = "";
    // Encoders write the key first.
    if (reader.at < end && reader.isNext(KEY_TAG)) {
      reader.at++;
      const known = reader.keyAmong(byLength);
      if (known === undefined && reader.at <= end) {
        reader.at = end;
        return;
      }
      key = known ?? "";
    }
    readEntry(reader, end, out[name] as Record<string, string>, key, only);
  };
}

/** Reads the rest of an entry. @param key if it was already read */
function readEntry(
  reader: Reader,
  end: number,
  map: Record<string, string>,
  key: string,
  only: readonly string[] | undefined,
): void {
  let value = "";
  while (reader.at < end) {
    const tag = reader.uint32();
    if (tag === VALUE_TAG) value = reader.string();
    else if (tag === KEY_TAG) key = reader.key();
    else reader.skip(tag & 7);
  }
  if (reader.at !== end) throw new ProtobufError("unexpected EOF");
  if (only !== undefined && !only.includes(key)) return;
  // An assignment to this name would set the object's prototype.
  if (key === "__proto__") Object.defineProperty(map, key, { value, enumerable: true, configurable: true });
  else map[key] = value;
}
