import type { Reader } from "./reader.js";
import type { Writer } from "./writer.js";

/** The scalar types of proto3 that our messages use. 64 bit integers are bigints: nanoseconds do not fit a number. */
export interface Scalars {
  string: string;
  bool: boolean;
  int32: number;
  uint32: number;
  int64: bigint;
  uint64: bigint;
  double: number;
  bytes: Buffer;
}
export type ScalarName = keyof Scalars;

/** Names and numbers of an enum. Unknown values stay numbers. */
export interface EnumTable {
  readonly name: string;
  readonly values: Readonly<Record<string, number>>;
  /** the message that contains its declaration in the .proto file, if any */
  readonly within?: string;
}

/** One row of a message's table. `Out`: the decoded type; `In`: the encoder's input. Both are only types. */
export interface Field<Out = unknown, In = unknown> {
  readonly number: number;
  readonly kind: FieldKind;
  readonly isRepeated: boolean;
  /** the name in the .proto file, unless it is the snake_case form of ours */
  readonly protoName?: string;
  readonly _out?: Out;
  readonly _in?: In;
}

export type FieldKind =
  | { readonly type: "scalar"; readonly scalar: ScalarName }
  | { readonly type: "enum"; readonly of: EnumTable }
  | { readonly type: "message"; readonly of: MessageType<FieldTable> }
  | { readonly type: "map"; readonly only?: readonly string[] };

export type FieldTable = Readonly<Record<string, Field>>;

/** Reads fields up to `reader.end` into `target`, or into a new object. */
export type Decode = (reader: Reader, target: Record<string, unknown> | undefined) => Record<string, unknown>;
/** Writes a message's fields in reverse order. */
export type Encode = (writer: Writer, value: Readonly<Record<string, unknown>>) => void;

/** A message as fields of other messages refer to it: `Message` without the methods for callers. */
export interface MessageType<F extends FieldTable> {
  readonly name: string;
  readonly fields: F;
  readonly decoder: Decode;
  readonly encoder: Encode;
  decode(bytes: Buffer): DecodedFields<F>;
  encode(value: InitFields<F>): Buffer;
}

/** The decoded form: every field is present; scalars have proto3's zero values, absent messages are undefined. */
export type DecodedFields<F extends FieldTable> = {
  readonly [K in keyof F]: F[K] extends Field<infer Out, unknown> ? Out : never;
};
/** The form to encode: absent fields are not sent. */
export type InitFields<F extends FieldTable> = {
  readonly [K in keyof F]?: (F[K] extends Field<unknown, infer In> ? In : never) | undefined;
};

export type Decoded<M> = M extends MessageType<infer F> ? DecodedFields<F> : never;
export type Init<M> = M extends MessageType<infer F> ? InitFields<F> : never;

/** The functions below build the rows of the message tables. */
function scalar<S extends ScalarName, In = Scalars[S]>(name: S) {
  return (number: number, protoName?: string): Field<Scalars[S], In> => ({
    number,
    kind: { type: "scalar", scalar: name },
    isRepeated: false,
    ...(protoName === undefined ? {} : { protoName }),
  });
}

export const string = scalar("string");
export const bool = scalar("bool");
export const int32 = scalar("int32");
export const uint32 = scalar("uint32");
export const int64 = scalar<"int64", bigint | number>("int64");
export const uint64 = scalar<"uint64", bigint | number>("uint64");
export const double = scalar("double");
export const bytes = scalar<"bytes", Uint8Array>("bytes");

/**
 * An enum's value as a number, because newer runtimes can send values that this table does not know.
 * @param named `{ ContainerState }`: the enum's name and its values
 */
export function enumeration(
  number: number,
  named: Readonly<Record<string, Readonly<Record<string, number>>>>,
  within?: string,
): Field<number, number> {
  const [[name, values] = ["", {}]] = Object.entries(named);
  const of: EnumTable = { name, values, ...(within === undefined ? {} : { within }) };
  return { number, kind: { type: "enum", of }, isRepeated: false };
}

/** A nested message; undefined if it was not sent. */
export function one<F extends FieldTable>(
  number: number,
  of: MessageType<F>,
  protoName?: string,
): Field<DecodedFields<F> | undefined, InitFields<F> | Encoded> {
  return {
    number,
    kind: { type: "message", of: of as unknown as MessageType<FieldTable> },
    isRepeated: false,
    ...(protoName === undefined ? {} : { protoName }),
  };
}

/** A list of nested messages; empty if no message was sent. */
export function many<F extends FieldTable>(
  number: number,
  of: MessageType<F>,
  protoName?: string,
): Field<readonly DecodedFields<F>[], readonly (InitFields<F> | Encoded)[]> {
  const { kind } = one(number, of);
  return { number, kind, isRepeated: true, ...(protoName === undefined ? {} : { protoName }) };
}

/** `repeated string` */
export function strings(number: number, protoName?: string): Field<readonly string[], readonly string[]> {
  const { kind } = string(number);
  return { number, kind, isRepeated: true, ...(protoName === undefined ? {} : { protoName }) };
}

/** `repeated int32`, accepts both packed and unpacked */
export function int32s(number: number): Field<readonly number[], readonly number[]> {
  return { number, kind: { type: "scalar", scalar: "int32" }, isRepeated: true };
}

/** `repeated int64`, accepts both packed and unpacked */
export function int64s(number: number): Field<readonly bigint[], readonly (bigint | number)[]> {
  return { number, kind: { type: "scalar", scalar: "int64" }, isRepeated: true };
}

/** `map<string, string>`. With `only`, a projection: other keys are skipped without decoding. */
export function stringMap(
  number: number,
  only?: readonly string[],
): Field<Readonly<Record<string, string>>, Readonly<Record<string, string>>> {
  return { number, kind: { type: "map", ...(only === undefined ? {} : { only }) }, isRepeated: false };
}

/** An encoded message that is copied as it is, for lists whose items rarely change. */
export class Encoded {
  constructor(readonly bytes: Uint8Array) {}
}
