import type { Environment } from "@marcbachmann/cel-js";
import { isRecord } from "../../../../../util/records.js";
import { itemsOf, valuesOf } from "../schema/structural.js";
import type { JsonSchema } from "../types.js";

/** How rules see the values of a schema: their type in CEL, and the conversion from JSON. */
export interface CelType {
  /** `int`, `list<string>`, or a name made for an object */
  readonly name: string;
  convert(value: unknown): unknown;
}

const DYN: CelType = { name: "dyn", convert: anyValue };

/**
 * Declares the types of a schema.
 *
 * Mirrors k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model/schemas.go (SchemaDeclType).
 * Differs: a field that can be null is dynamic.
 * @param names counts the types that were made
 */
export function celTypeOf(
  schema: JsonSchema,
  environment: Environment,
  names: { count: number },
  isResource = schema["x-kubernetes-embedded-resource"] === true,
): CelType {
  if (schema["x-kubernetes-int-or-string"] === true || schema.nullable === true) return DYN;
  const items = itemsOf(schema);
  const values = valuesOf(schema);
  switch (schema.type) {
    case "boolean":
      return { name: "bool", convert: (value) => value };
    case "integer":
      return { name: "int", convert: (value) => (Number.isInteger(value) ? BigInt(value as number) : value) };
    case "number":
      return { name: "double", convert: (value) => value };
    case "string":
      return textType(schema.format ?? "");
    case "array": {
      const of = items === undefined ? DYN : celTypeOf(items, environment, names);
      const convert = (value: unknown) => (Array.isArray(value) ? value.map((one) => of.convert(one)) : value);
      return { name: `list<${of.name}>`, convert };
    }
    case "object":
      if (values !== undefined) return mapType(celTypeOf(values, environment, names));
      if (schema.properties === undefined && !isResource) return DYN;
      return objectType(schema, environment, names, isResource);
    default:
      return DYN;
  }
}

function textType(format: string): CelType {
  switch (format) {
    case "date":
    case "date-time":
      return {
        name: "google.protobuf.Timestamp",
        convert: (value) => (typeof value === "string" ? new Date(value) : value),
      };
    case "byte":
      return {
        name: "bytes",
        convert: (value) => (typeof value === "string" ? new Uint8Array(Buffer.from(value, "base64")) : value),
      };
    default:
      return { name: "string", convert: (value) => value };
  }
}

function mapType(of: CelType): CelType {
  return {
    name: `map<string, ${of.name}>`,
    convert: (value) =>
      isRecord(value) ? new Map(Object.entries(value).map(([key, one]) => [key, of.convert(one)])) : value,
  };
}

const TEXT: JsonSchema = { type: "string" };
/** Of the metadata, rules see the names only. */
const META: JsonSchema = { type: "object", properties: { name: TEXT, generateName: TEXT } };

function objectType(
  schema: JsonSchema,
  environment: Environment,
  names: { count: number },
  isResource: boolean,
): CelType {
  const meta = isResource ? { apiVersion: TEXT, kind: TEXT, metadata: META } : {};
  const properties = Object.entries({ ...schema.properties, ...meta });
  const fields = properties.flatMap(([key, one]) => {
    const name = escaped(key);
    return name === undefined ? [] : [{ key, name, type: celTypeOf(one, environment, names) }];
  });
  class Fields {}
  const name = `Object${names.count++}`;
  environment.registerType(name, {
    ctor: Fields,
    fields: Object.fromEntries(fields.map((one) => [one.name, one.type.name])),
  });
  return {
    name,
    convert(value) {
      if (!isRecord(value)) return value;
      const object = new Fields() as Record<string, unknown>;
      for (const { key, name: field, type } of fields) {
        if (Object.hasOwn(value, key)) object[field] = type.convert(value[key]);
      }
      return object;
    },
  };
}

function anyValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(anyValue);
  if (isRecord(value)) return new Map(Object.entries(value).map(([key, one]) => [key, anyValue(one)]));
  return typeof value === "number" && Number.isInteger(value) ? BigInt(value) : value;
}

const KEYWORDS = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);
const ESCAPES: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
};

/** The name of a field in rules; undefined if it has none. Mirrors Escape in k8s.io/apiserver/pkg/cel/escaping.go. */
function escaped(name: string): string | undefined {
  if (KEYWORDS.has(name)) return `__${name}__`;
  const changed = name.replace(/__|[./-]/g, (part) => ESCAPES[part] ?? part);
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(changed) ? changed : undefined;
}
