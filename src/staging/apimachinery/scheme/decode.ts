import type { KubeObject } from "../api/meta.js";
import { setOwnValue } from "../own.js";
import { canonicalResourceQuantity, QuantityError, storedQuantity } from "../quantity.js";
import { canonicalBase64 } from "./base64.js";
import { jsonFields } from "./catalogue.js";
import { typeDefaults } from "./defaults/defaults.js";
import type { MutableStruct } from "./defaults/struct.js";
import { canonicalTime, GoTimeError, RFC3339, RFC3339_MICRO } from "./go-time.js";
import type { Field, FieldType, ScalarType } from "./schema.js";

/**
 * Converts JSON values to objects in one walk: known fields only, in Go's order, with defaults and always-present fields.
 *
 * Every request passes here, so the walk only detects that something is wrong (a type, an unknown key); `problems.ts`
 * finds the details. Decoders are closures, built once for each type.
 * Differs: accepts a whole number written as `1.0` or `1e3` as an integer.
 */
export interface Walk {
  /** an object had a key that its type does not define */
  unknown: boolean;
  /** keys of all objects seen; fewer than in the text mean that a key was duplicated */
  keys: number;
}

/** A value has the wrong type. `problemsOf` finds the message. */
export class ShapeError extends Error {
  override readonly name = "ShapeError";
}

/** @throws ShapeError, GoTimeError, QuantityError */
export function decodeWalking(type: string, value: unknown, walk: Walk): KubeObject {
  return structDecoder(type)(value, walk) as KubeObject;
}

/** Reports whether decoding failed because of the value. */
export function isDecodingError(error: unknown): error is Error {
  return error instanceof ShapeError || error instanceof GoTimeError || error instanceof QuantityError;
}

/** The number of keys of all objects inside a value. */
export function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const item of value) count += countKeys(item);
  else {
    const object = value as Readonly<Record<string, unknown>>;
    for (const key in object) count += 1 + countKeys(object[key]);
  }
  return count;
}

type Decoder = (value: unknown, walk: Walk) => unknown;

/** Struct decoders by type, built on first use: they depend only on constants. */
const decoders = new Map<string, Decoder>();

function structDecoder(type: string): Decoder {
  const known = decoders.get(type);
  if (known !== undefined) return known;
  const slots = jsonFields(type).map(slotOf);
  const places = new Map(slots.map(({ name }, place) => [name, place]));
  const defaults = typeDefaults(type);
  const rows: unknown[][] = [];
  const decode: Decoder = (value, walk) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new ShapeError();
    // `finish` leaves the row clean, because most structs have many fields but set only a few.
    const row = rows.pop() ?? new Array<unknown>(slots.length).fill(undefined);
    readFields(value as Readonly<Record<string, unknown>>, places, row, walk);
    const out = writeFields(slots, row, walk);
    rows.push(row);
    defaults?.(out);
    return out;
  };
  decoders.set(type, decode);
  return decode;
}

/** Walks the keys of the value, because most fields of a type are usually absent. */
function readFields(
  input: Readonly<Record<string, unknown>>,
  places: ReadonlyMap<string, number>,
  row: unknown[],
  walk: Walk,
): void {
  for (const key in input) {
    walk.keys++;
    const place = places.get(key);
    if (place !== undefined) row[place] = input[key];
    else {
      walk.unknown = true;
      walk.keys += countKeys(input[key]);
    }
  }
}

/** Assembles the struct in Go's order, and clears the row. */
function writeFields(slots: readonly Slot[], row: unknown[], walk: Walk): MutableStruct {
  const out: MutableStruct = {};
  for (let i = 0; i < slots.length; i++) {
    const slot = slots[i] as Slot;
    const given = row[i];
    row[i] = undefined;
    let result: unknown;
    if (given !== undefined && given !== null) result = slot.present(given, walk);
    else if (slot.isNeverAbsent) result = slot.absent(walk);
    else continue;
    if (result !== undefined) out[slot.name] = result;
  }
  return out;
}

interface Slot {
  readonly name: string;
  /** @returns undefined to leave the field out */
  readonly present: Decoder;
  readonly absent: (walk: Walk) => unknown;
  /** whether `absent` can return a value */
  readonly isNeverAbsent: boolean;
}

function slotOf(field: Field): Slot {
  const absent = absentValue(field);
  return { name: field.name, present: presentValue(field), absent, isNeverAbsent: absent !== NO_VALUE };
}

const NO_VALUE = () => undefined;

function presentValue(field: Field): Decoder {
  const { type, pointer, omitEmpty, default: defaultValue } = field;
  const decode = lazyDecoder(type);
  if (pointer) return (value, walk) => decode(value, walk) ?? undefined;
  const isList = type.type === "array" || type.type === "map";
  if (isList) {
    // The store keeps objects as protobuf, which cannot distinguish an empty list from an absent one.
    const empty = omitEmpty ? undefined : null;
    const keep = (value: unknown) => (isEmptyCollection(value) ? empty : value);
    return (value, walk) => keep(decode(value, walk));
  }
  if (defaultValue !== undefined) return (value, walk) => decode(value, walk) || defaultValue;
  if (!omitEmpty || isStructLike(type)) return decode;
  return (value, walk) => decode(value, walk) || undefined;
}

function isEmptyCollection(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value as object) return false;
  return true;
}

/** Structs in Go, for which omitempty has no effect. */
function isStructLike({ type }: FieldType): boolean {
  return ["object", "time", "microtime", "quantity", "intOrString", "any"].includes(type);
}

function absentValue({ type, pointer, omitEmpty, default: defaultValue }: Field): (walk: Walk) => unknown {
  if (defaultValue !== undefined && type.type !== "object") return () => defaultValue;
  if (pointer && defaultValue === undefined) return omitEmpty ? NO_VALUE : () => null;
  if (type.type === "object") {
    const decode = lazyDecoder(type);
    return (walk) => decode(NOTHING, walk);
  }
  if (omitEmpty && !isStructLike(type)) return NO_VALUE;
  const zero = ZEROS[type.type] ?? null;
  return () => zero;
}

const NOTHING: Readonly<Record<string, unknown>> = Object.freeze({});

const ZEROS: Readonly<Record<string, unknown>> = {
  string: "",
  boolean: false,
  int32: 0,
  int64: 0,
  double: 0,
  quantity: "0",
  resourceQuantity: "0",
  intOrString: 0,
};

/** Types refer to each other, and most are never used, so a struct's decoder is built when a value needs it. */
function lazyDecoder(type: FieldType): Decoder {
  switch (type.type) {
    case "object": {
      let decode: Decoder | undefined;
      const { ref, or } = type;
      return (value, walk) => {
        if (or !== undefined && isOther(or, value)) return SCALAR_DECODERS.any(value, walk);
        decode ??= structDecoder(ref);
        return decode(value, walk);
      };
    }
    case "array":
      return arrayDecoder(type.items);
    case "map":
      return type.values.type === "string" ? stringMap : mapDecoder(type.values);
    default:
      return SCALAR_DECODERS[type.type];
  }
}

/** Reports whether a value has the JSON type that a field takes beside its struct. */
export function isOther(or: "boolean" | "array", value: unknown): boolean {
  return or === "boolean" ? typeof value === "boolean" : Array.isArray(value);
}

/** null inside a list or a map becomes Go's zero value. */
function elementDecoder(type: FieldType): Decoder {
  const decode = lazyDecoder(type);
  const zero =
    type.type === "object"
      ? (walk: Walk) => decode(NOTHING, walk)
      : () => (type.type === "bytes" ? "" : (ZEROS[type.type] ?? null));
  return (value, walk) => (value === null ? zero(walk) : decode(value, walk));
}

function arrayDecoder(items: FieldType): Decoder {
  const decode = elementDecoder(items);
  return (value, walk) => {
    if (!Array.isArray(value)) throw new ShapeError();
    const out = new Array<unknown>(value.length);
    for (let i = 0; i < value.length; i++) out[i] = decode(value[i], walk);
    return out;
  };
}

/** Go writes the keys of a map sorted. */
function mapDecoder(values: FieldType): Decoder {
  const decode = elementDecoder(values);
  return (value, walk) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new ShapeError();
    const input = value as Readonly<Record<string, unknown>>;
    const out: Record<string, unknown> = {};
    let previous = "";
    let isSorted = true;
    for (const key in input) {
      walk.keys++;
      setOwnValue(out, key, decode(input[key], walk));
      if (key < previous) isSorted = false;
      previous = key;
    }
    return isSorted ? out : sortedByKey(out);
  };
}

/** Labels, annotations and similar maps are returned unchanged if all values are strings and the keys are sorted. */
const stringMap: Decoder = (value, walk) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new ShapeError();
  const input = value as Readonly<Record<string, unknown>>;
  let hasNull = false;
  let previous = "";
  let isSorted = true;
  for (const key in input) {
    walk.keys++;
    if (input[key] === null) hasNull = true;
    else if (typeof input[key] !== "string") throw new ShapeError();
    if (key < previous) isSorted = false;
    previous = key;
  }
  const out = hasNull ? Object.fromEntries(Object.entries(input).map(([key, item]) => [key, item ?? ""])) : input;
  return isSorted ? out : sortedByKey(out);
};

/** Without a comparator and without pairs: a request may have 150,000 keys. */
function sortedByKey(map: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(map).sort()) setOwnValue(out, key, map[key]);
  return out;
}

const MAX_INT32 = 2 ** 31;
const MAX_INT64 = 2 ** 63;

function text(value: unknown): string {
  if (typeof value !== "string") throw new ShapeError();
  return value;
}

function integerBelow(limit: number): Decoder {
  return (value) => {
    if (!Number.isInteger(value) || (value as number) >= limit || (value as number) < -limit) throw new ShapeError();
    return value;
  };
}

const int32 = integerBelow(MAX_INT32);

function quantityText(value: unknown): string {
  return typeof value === "number" ? String(value) : text(value);
}

/** One decoder per scalar type. They throw ShapeError, GoTimeError, QuantityError. */
export const SCALAR_DECODERS: Readonly<Record<ScalarType, Decoder>> = {
  string: text,
  boolean: (value) => {
    if (typeof value !== "boolean") throw new ShapeError();
    return value;
  },
  int32,
  int64: integerBelow(MAX_INT64),
  double: (value) => {
    if (typeof value !== "number") throw new ShapeError();
    return value;
  },
  bytes: (value) => {
    const canonical = canonicalBase64(text(value));
    if (canonical === undefined) throw new ShapeError();
    return canonical;
  },
  time: (value) => canonicalTime(text(value), RFC3339),
  microtime: (value) => canonicalTime(text(value), RFC3339_MICRO),
  quantity: (value) => storedQuantity(quantityText(value)),
  resourceQuantity: (value) => canonicalResourceQuantity(quantityText(value)),
  intOrString: (value, walk) => (typeof value === "string" ? value : int32(value, walk)),
  any: (value, walk) => {
    walk.keys += countKeys(value);
    return value;
  },
};
