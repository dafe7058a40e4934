import { base64Error } from "./base64.js";
import { jsonFields, typeSchema } from "./catalogue.js";
import { isDecodingError, isOther, SCALAR_DECODERS, ShapeError } from "./decode.js";
import { goKind, goQuote } from "./go-text.js";
import type { FieldType } from "./schema.js";

export interface Problems {
  /** why the value does not fit the type, as Go's message: the first problem */
  readonly error: string | undefined;
  /** `unknown field "spec.x"`, in the order of the value */
  readonly unknownFields: readonly string[];
}

/** The position of a value, in the two notations of Go's errors. */
interface Place {
  /** `spec.containers[0].image` */
  readonly path: string;
  /** `Container.spec.containers.image`: the innermost struct and the names of the fields; "" at the top */
  readonly field: string;
  /** `spec.containers.image` */
  readonly names: string;
}

/** The message for a value of the wrong type. */
export type Wording = (type: FieldType, value: unknown, place: Place) => string;

/**
 * Finds the details of what the decoder only detected: why a value does not fit its type, and unknown fields.
 *
 * Mirrors sigs.k8s.io/json (a fork of encoding/json/decode.go).
 * Differs: stops at the first problem, while Go prefers some kinds of errors; names every string type `string`.
 */
export function problemsOf(type: string, value: unknown, wording: Wording = jsonTypeError): Problems {
  const unknownFields: string[] = [];
  const fail = (message: string, cause?: Error) => {
    throw cause === undefined || cause instanceof ShapeError ? new ShapeError(message) : cause;
  };
  try {
    visitAll(type, value, { wording, misfit: fail, unknown: (path) => unknownFields.push(path) });
  } catch (error) {
    if (!isDecodingError(error)) throw error;
    return { error: error.message, unknownFields: [] };
  }
  return { error: undefined, unknownFields: unknownFields.map((path) => `unknown field ${goQuote(path)}`) };
}

/** A message for each value that does not fit its type, in the order of the value. Ignores unknown fields. */
export function typeProblems(type: string, value: unknown, wording: Wording): string[] {
  const problems: string[] = [];
  visitAll(type, value, { wording, misfit: (message) => problems.push(message), unknown: () => undefined });
  return problems;
}

interface Visitor {
  readonly wording: Wording;
  /** @param cause the decoder's error about a scalar */
  misfit(message: string, cause?: Error): void;
  unknown(path: string): void;
}

function visitAll(type: string, value: unknown, { wording, misfit, unknown }: Visitor): void {
  const visit = (type: FieldType, value: unknown, place: Place): void => {
    if (value === null || value === undefined) return;
    if (type.type === "object" && type.or !== undefined && isOther(type.or, value)) return;
    if (type.type === "array" ? !Array.isArray(value) : isObjectType(type) && goKind(value) !== "object") {
      misfit(wording(type, value, place));
    } else if (type.type === "array") {
      (value as unknown[]).forEach((item, index) => {
        visit(type.items, item, { ...place, path: `${place.path}[${index}]` });
      });
    } else if (type.type === "map") {
      for (const [key, item] of Object.entries(value)) {
        visit(type.values, item, { ...place, path: joined(place.path, key) });
      }
    } else if (type.type === "object") visitFields(type.ref, value as object, place);
    else visitScalar(type, value, place);
  };
  const visitFields = (ref: string, value: object, place: Place): void => {
    const fields = new Map(jsonFields(ref).map((field) => [field.name, field.type]));
    for (const [key, item] of Object.entries(value)) {
      const type = fields.get(key);
      const path = joined(place.path, key);
      const names = joined(place.names, key);
      if (type === undefined) unknown(path);
      else visit(type, item, { path, names, field: `${typeSchema(ref).goName}.${names}` });
    }
  };
  const visitScalar = (type: ScalarFieldType, value: unknown, place: Place): void => {
    try {
      SCALAR_DECODERS[type.type](value, { unknown: false, keys: 0 });
    } catch (error) {
      if (!isDecodingError(error)) throw error;
      const isBadBase64 = type.type === "bytes" && typeof value === "string";
      misfit(isBadBase64 ? base64Error(value) : wording(type, value, place), error);
    }
  };
  visit({ type: "object", ref: type }, value, { path: "", field: "", names: "" });
}

type ScalarFieldType = Exclude<FieldType, { type: "object" | "array" | "map" }>;

function isObjectType({ type }: FieldType): boolean {
  return type === "object" || type === "map";
}

function joined(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function jsonTypeError(type: FieldType, value: unknown, { field }: Place): string {
  const isInteger = ["int32", "int64", "intOrString"].includes(type.type);
  const kind = isInteger && typeof value === "number" ? `number ${value}` : goKind(value);
  const into = field === "" ? "Go value" : `Go struct field ${field}`;
  return `json: cannot unmarshal ${kind} into ${into} of type ${goTypeName(type)}`;
}

/**
 * The message for the result of a strategic merge patch: upstream decodes it from maps, not from JSON.
 * Mirrors k8s.io/apimachinery/pkg/runtime/converter.go (sliceFromUnstructured).
 * Differs: only lists have a message of their own.
 */
export function unstructuredTypeError(type: FieldType, value: unknown, place: Place): string {
  if (type.type === "array") return `cannot restore slice from ${goKind(value)}`;
  return jsonTypeError(type, value, { ...place, field: "" });
}

const GO_NAMES: Readonly<Record<string, string>> = {
  boolean: "bool",
  double: "float64",
  bytes: "[]uint8",
  time: "string",
  microtime: "string",
  resourceQuantity: "resource.Quantity",
  quantity: "resource.Quantity",
  intOrString: "int32",
};

/** Mirrors reflect.Type.String. */
function goTypeName(type: FieldType): string {
  if (type.type === "object") return `v1.${typeSchema(type.ref).goName}`;
  if (type.type === "array") return `[]${goTypeName(type.items)}`;
  if (type.type === "map") return `map[string]${goTypeName(type.values)}`;
  return GO_NAMES[type.type] ?? type.type;
}
