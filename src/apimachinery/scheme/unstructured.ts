import { base64Error, canonicalBase64 } from "./base64.js";
import { jsonFields } from "./catalogue.js";
import { goTypeName, selfDecodingProblem } from "./diagnose.js";
import { goKind } from "./go-text.js";
import type { FieldType } from "./schema.js";

/**
 * What upstream says of a value that a strategic merge patch made and that does not fit its type: this path has a decoder
 * of its own there, with other texts than JSON's and without the place.
 *
 * Mirrors k8s.io/apimachinery/pkg/runtime/converter.go (FromUnstructuredWithValidation).
 * Differs: maps are read in order, there in any.
 */
export interface UnstructuredProblems {
  readonly error: string | undefined;
  /** `unknown field "spec.taints[0].$patch"`, sorted */
  readonly unknownFields: readonly string[];
}

export function unstructuredProblems(type: string, value: unknown): UnstructuredProblems {
  const unknownFields: string[] = [];
  const error = problemOf({ type: "object", ref: type }, value, "", unknownFields);
  return { error, unknownFields: unknownFields.sort() };
}

function problemOf(type: FieldType, value: unknown, path: string, unknown: string[]): string | undefined {
  if (value === null || value === undefined) return undefined;
  switch (type.type) {
    case "object":
      return structProblem(type.ref, value, path, unknown);
    case "array":
      if (!Array.isArray(value)) return `cannot restore slice from ${reflectKind(value)}`;
      return firstProblem(value.entries(), (item, index) => problemOf(type.items, item, `${path}[${index}]`, unknown));
    case "map":
      if (goKind(value) !== "object") return `cannot restore map from ${reflectKind(value)}`;
      return firstProblem(Object.entries(value), (item) => problemOf(type.values, item, path, unknown));
    case "bytes":
      return bytesProblem(value);
    case "string":
    case "boolean":
    case "int32":
    case "int64":
    case "double":
      return scalarProblem(type, value);
    default: {
      const problem = selfDecodingProblem(type, JSON.stringify(value));
      if (problem === undefined || typeof problem === "string") return problem;
      return `json: cannot unmarshal ${problem.value} into Go value of type ${problem.goType}`;
    }
  }
}

function structProblem(type: string, value: unknown, path: string, unknown: string[]): string | undefined {
  if (goKind(value) !== "object") return `cannot restore struct from: ${reflectKind(value)}`;
  const input = value as Readonly<Record<string, unknown>>;
  const fields = jsonFields(type);
  const names = new Set(fields.map(({ name }) => name));
  const pathTo = (key: string) => (path === "" ? key : `${path}.${key}`);
  for (const key of Object.keys(input)) if (!names.has(key)) unknown.push(`unknown field "${pathTo(key)}"`);
  for (const field of fields) {
    const problem = problemOf(field.type, input[field.name], pathTo(field.name), unknown);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function firstProblem<K>(
  entries: Iterable<readonly [K, unknown]>,
  check: (item: unknown, key: K) => string | undefined,
): string | undefined {
  for (const [key, item] of entries) {
    const problem = check(item, key);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function bytesProblem(value: unknown): string | undefined {
  if (typeof value !== "string") return `cannot restore slice from ${reflectKind(value)}`;
  return canonicalBase64(value) === undefined ? `error decoding from json: ${base64Error(value)}` : undefined;
}

/** Go converts between numbers, and could convert a number to a string: it refuses that with another text. */
function scalarProblem(type: FieldType, value: unknown): string | undefined {
  const wanted = type.type === "string" ? "string" : goTypeName(type);
  const kind = reflectKind(value);
  if (kind === wanted || (kind === "int64" && wanted === "int32")) return undefined;
  if (kind === "int64" && wanted === "float64") return undefined;
  const isConvertible = (kind === "int64" && wanted === "string") || (kind === "float64" && wanted.startsWith("int"));
  return isConvertible ? `cannot convert ${kind} to ${goTypeName(type)}` : `unrecognized type: ${wanted}`;
}

/** reflect.Kind of what a JSON value is in Go. */
function reflectKind(value: unknown): string {
  const kind = goKind(value);
  if (kind === "array") return "slice";
  if (kind === "object") return "map";
  if (kind === "number") return Number.isInteger(value) ? "int64" : "float64";
  return kind;
}
