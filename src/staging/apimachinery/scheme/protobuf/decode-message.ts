import { setOwnValue } from "../../own.js";
import { BYTES, ProtobufError, Reader, VARINT } from "../../protobuf/reader.js";
import { typeSchema } from "../catalogue.js";
import { MAX_VALUES, parseJson, TOO_MANY_VALUES } from "../json-syntax.js";
import type { Field, FieldType, ScalarType } from "../schema.js";

type Json = Record<string, unknown>;

/**
 * Converts a message to the equivalent JSON value by the numbers in the type tables. Skips unknown numbers, which newer
 * clients send. Mirrors the generated Unmarshal methods of k8s.io/api.
 * @throws ProtobufError
 */
export function decodeMessage(type: string, bytes: Buffer, budget: Budget = { values: MAX_VALUES }): Json {
  const out: Json = {};
  readInto(out, type, bytes, budget);
  return out;
}

/** The remaining number of values that one message can have. */
interface Budget {
  values: number;
}

function readInto(out: Json, type: string, bytes: Buffer, budget: Budget): void {
  const fields = fieldsByNumber(type);
  const reader = new Reader(bytes);
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag();
    const field = fields.get(number);
    if (field === undefined) reader.skip(wireType);
    else readField(out, field, reader, wireType, budget);
  }
}

function readField(out: Json, { name, type, inline }: Field, reader: Reader, wireType: number, budget: Budget): void {
  if (inline && type.type === "object") readInto(out, type.ref, reader.chunk(), budget);
  else if (type.type === "array") {
    out[name] ??= [];
    const list = out[name] as unknown[];
    if (wireType === BYTES && isVarint(type.items)) {
      const packed = new Reader(reader.chunk());
      while (!packed.isAtEnd) list.push(readValue(type.items, packed, budget));
    } else list.push(readValue(type.items, reader, budget));
  } else if (type.type === "map") {
    out[name] ??= {};
    const [key, value] = readEntry(type.values, reader.chunk(), budget);
    setOwnValue(out[name] as Json, key, value);
  } else out[name] = readValue(type, reader, budget);
}

function readEntry(values: FieldType, bytes: Buffer, budget: Budget): [string, unknown] {
  let key = "";
  let value: unknown = null;
  spend(budget);
  const reader = new Reader(bytes);
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag();
    if (number === 1) key = reader.chunk().toString();
    else if (number === 2) value = readValue(values, reader, budget);
    else reader.skip(wireType);
  }
  return [key, value];
}

function isVarint({ type }: FieldType): boolean {
  return type === "int32" || type === "int64" || type === "boolean";
}

function spend(budget: Budget): void {
  if (--budget.values < 0) throw new ProtobufError(`proto: ${TOO_MANY_VALUES}`);
}

function readValue(type: FieldType, reader: Reader, budget: Budget): unknown {
  spend(budget);
  if (type.type === "object") return decodeMessage(type.ref, reader.chunk(), budget);
  if (type.type === "array") return readItems(type.items, reader.chunk(), budget);
  if (type.type === "map") throw new ProtobufError("proto: a map inside a list or a map");
  if (isVarint(type)) {
    const value = Number(reader.int64());
    return type.type === "boolean" ? value !== 0 : value;
  }
  return readChunk(type.type, reader.chunk());
}

/** A list inside a map is wrapped in a message of its own: ExtraValue. */
function readItems(items: FieldType, bytes: Buffer, budget: Budget): unknown[] {
  const reader = new Reader(bytes);
  const list: unknown[] = [];
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag();
    if (number === 1) list.push(readValue(items, reader, budget));
    else reader.skip(wireType);
  }
  return list;
}

function readChunk(type: ScalarType, bytes: Buffer): unknown {
  switch (type) {
    case "bytes":
      return bytes.toString("base64");
    case "time":
    case "microtime":
      return bytes.length === 0 ? null : readTime(bytes, type === "microtime");
    case "quantity":
    case "resourceQuantity":
      return String(readNumbered(bytes).get(1) ?? "0");
    case "intOrString": {
      const fields = readNumbered(bytes);
      return Number(fields.get(1) ?? 0) === 1
        ? String(fields.get(3) ?? "")
        : Number(BigInt.asIntN(32, numberOf(fields, 2)));
    }
    case "any": {
      const raw = readNumbered(bytes).get(1);
      return typeof raw === "string" && raw !== "" ? parseRaw(raw) : null;
    }
    default:
      return bytes.toString();
  }
}

function readTime(bytes: Buffer, isMicro: boolean): string {
  const fields = readNumbered(bytes);
  const seconds = Number(BigInt.asIntN(64, numberOf(fields, 1)));
  const whole = new Date(seconds * 1000);
  if (Number.isNaN(whole.getTime())) throw new ProtobufError("proto: time out of range");
  const text = whole.toISOString().slice(0, 19);
  const micros = Math.trunc(Number(numberOf(fields, 2)) / 1000);
  return isMicro ? `${text}.${String(micros).padStart(6, "0")}Z` : `${text}Z`;
}

/** Fields of a small message that is not in the type tables. */
function readNumbered(bytes: Buffer): Map<number, string | bigint> {
  const reader = new Reader(bytes);
  const fields = new Map<number, string | bigint>();
  while (!reader.isAtEnd) {
    const { number, wireType } = reader.tag();
    if (wireType === BYTES) fields.set(number, reader.chunk().toString());
    else if (wireType === VARINT) fields.set(number, reader.uint64());
    else reader.skip(wireType);
  }
  return fields;
}

function numberOf(fields: ReadonlyMap<number, string | bigint>, number: number): bigint {
  const value = fields.get(number);
  return typeof value === "bigint" ? value : 0n;
}

function parseRaw(raw: string): unknown {
  return parseJson(raw, (problem) => new ProtobufError(`proto: embedded document is not JSON: ${problem}`));
}

/** Decoders by type, built on first use from constants. */
const numbered = new Map<string, ReadonlyMap<number, Field>>();

function fieldsByNumber(type: string): ReadonlyMap<number, Field> {
  let fields = numbered.get(type);
  if (fields === undefined) {
    fields = new Map(
      typeSchema(type)
        .fields.filter(({ protobuf }) => protobuf > 0)
        .map((field) => [field.protobuf, field]),
    );
    numbered.set(type, fields);
  }
  return fields;
}
