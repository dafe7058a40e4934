import assert from "node:assert";
import type { Field, FieldType, ScalarType, TypeRows, TypeSchema } from "./schema.js";

/**
 * Reads a type of the tables in `fixtures/scheme`. A type is an object with one entry for each field:
 *
 *     "--": "A container that runs in the pod."       the type's description
 *     "TypeMeta": "inline"                            has kind and apiVersion
 *     "name": "1 string!"                             protobuf number, type
 *     "ports": "6 []ContainerPort merge=containerPort"
 *     "resources": "8 ResourceRequirements"           a struct: always present, at least as {}
 *     "livenessProbe": "10 *Probe"                    a pointer: may be absent
 *     "imagePullPolicy": "14 string -- When to pull." the text after `--` is for `kubectl explain`
 *     "replicas": "2 *int32 default=1"
 *     "handler": "1 ProbeHandler inline"              an embedded struct
 *
 * Types: string bool int32 int64 double bytes time microtime quantity
 * IntOrString any ResourceList and names of other types, with |bool or |array if a value of that JSON type is kept as it is; before them `*` (pointer), `[]`, `map:`; after them `!` (no
 * omitempty: also required, unless `optional`). Attributes: merge=KEY, merge (a set of plain values), retainKeys, replace,
 * inline, optional, required, default=VALUE (a number, true, false, {} for a struct, or plain text).
 */
export function parseType(name: string, packageName: string, rows: TypeRows): TypeSchema {
  const { "--": description, TypeMeta: typeMeta, ...fields } = rows;
  const isKind = typeMeta !== undefined;
  return {
    name,
    goName: name.slice(name.lastIndexOf(".") + 1),
    package: packageName,
    fields: Object.entries(isKind ? { ...TYPE_META, ...fields } : fields).map(parseField),
    isKind,
    ...(description === undefined ? {} : { description }),
  };
}

/** `kind` and `apiVersion` have no protobuf number: the envelope contains them. */
const TYPE_META: TypeRows = {
  kind: "0 string -- The name of the type of this object, in CamelCase. Cannot be changed.",
  apiVersion: "0 string -- The group and version of the API that this object is written in.",
};

function parseField([name, row]: readonly [string, string]): Field {
  const dashes = row.indexOf(" -- ");
  const [number, typeWord, ...attributes] = (dashes < 0 ? row : row.slice(0, dashes)).split(" ");
  assert(number !== undefined && /^\d+$/.test(number) && typeWord, `not a field of a type table: ${name}: ${row}`);
  const omitEmpty = !typeWord.endsWith("!");
  const pointer = typeWord.startsWith("*");
  const attribute = (key: string) =>
    attributes.find((word) => word === key || word.startsWith(`${key}=`))?.slice(key.length);
  const mergeKey = attribute("merge");
  const defaultText = attribute("default");
  return {
    name,
    type: parseFieldType(typeWord.slice(pointer ? 1 : 0, omitEmpty ? undefined : -1)),
    pointer,
    omitEmpty,
    required: attribute("required") !== undefined || (!omitEmpty && attribute("optional") === undefined),
    retainKeys: attribute("retainKeys") !== undefined,
    replace: attribute("replace") !== undefined,
    inline: attribute("inline") !== undefined,
    protobuf: Number(number),
    ...(mergeKey === undefined ? {} : { mergeKey: mergeKey.slice(1) }),
    ...(defaultText === undefined ? {} : { default: parseDefault(defaultText.slice(1)) }),
    ...(dashes < 0 ? {} : { description: row.slice(dashes + 4) }),
  };
}

const SCALARS: Readonly<Record<string, ScalarType>> = {
  string: "string",
  bool: "boolean",
  int32: "int32",
  int64: "int64",
  double: "double",
  bytes: "bytes",
  time: "time",
  microtime: "microtime",
  quantity: "quantity",
  IntOrString: "intOrString",
  any: "any",
};

function parseFieldType(word: string): FieldType {
  if (word.startsWith("[]")) return { type: "array", items: parseFieldType(word.slice(2)) };
  if (word.startsWith("map:")) return { type: "map", values: parseFieldType(word.slice(4)) };
  if (word === "ResourceList") return { type: "map", values: { type: "resourceQuantity" } };
  const scalar = SCALARS[word];
  if (scalar !== undefined) return { type: scalar };
  const [ref = "", or] = word.split("|");
  if (or === undefined) return { type: "object", ref };
  assert(or === "bool" || or === "array", `not an alternative in a type table: ${word}`);
  return { type: "object", ref, or: or === "bool" ? "boolean" : "array" };
}

function parseDefault(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+$/.test(text) ? Number(text) : text;
}
