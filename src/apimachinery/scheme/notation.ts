import assert from "node:assert";
import type { Field, FieldType, ScalarType, TypeSchema } from "./schema.js";

/**
 * Reads the notation of the type tables. A type is a few lines, one field each:
 *
 *     -- A container that runs in the pod.          the type's description
 *     TypeMeta                                      has kind and apiVersion
 *     1  name       string!                         protobuf number, name in JSON, type
 *     6  ports      []ContainerPort merge=containerPort
 *     8  resources  ResourceRequirements            a struct: always there, as {} at least
 *     10 livenessProbe *Probe                       a pointer: may be absent
 *     14 imagePullPolicy string -- When to pull.    what follows `--` is for `kubectl explain`
 *     2  replicas   *int32 default=1
 *     1  handler    ProbeHandler inline             an embedded struct
 *
 * Types: string (string:NAME where Go has a name for such strings) bool int32 int64 double bytes time microtime quantity IntOrString any ResourceList and names of other
 * types; before them `*` (pointer), `[]`, `map:`; after them `!` (no omitempty: also required, unless `optional`).
 * Attributes: merge=KEY, merge (a set of plain values), retainKeys, replace, inline, optional, required, default=VALUE (a number,
 * true, false, {} for a struct, or plain text).
 */
export function parseType(name: string, packageName: string, text: string): TypeSchema {
  const fields: Field[] = [];
  let description: string | undefined;
  let isKind = false;
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (line === "") continue;
    if (line.startsWith("-- ")) description = line.slice(3);
    else if (line === "TypeMeta") {
      isKind = true;
      fields.push(...TYPE_META.map(parseField));
    } else fields.push(parseField(line));
  }
  const goName = name.slice(name.lastIndexOf(".") + 1);
  const schema = { name, goName, package: packageName, fields, isKind };
  return description === undefined ? schema : { ...schema, description };
}

/** `kind` and `apiVersion`: in protobuf they are in the envelope, so they have no number. */
const TYPE_META = [
  "0 kind string -- The name of the type of this object, in CamelCase. May not be changed.",
  "0 apiVersion string -- The group and version of the API that this object is written in.",
];

function parseField(line: string): Field {
  const dashes = line.indexOf(" -- ");
  const words = (dashes < 0 ? line : line.slice(0, dashes)).trim().split(/\s+/);
  const [number, name, typeWord, ...attributes] = words;
  assert(number !== undefined && /^\d+$/.test(number) && name && typeWord, `not a field of a type table: ${line}`);
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
    ...(dashes < 0 ? {} : { description: line.slice(dashes + 4) }),
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
  if (word.startsWith("string:")) return { type: "string", go: goName(word.slice("string:".length)) };
  const scalar = SCALARS[word];
  if (scalar !== undefined) return { type: scalar };
  return { type: "object", ref: word };
}

function goName(word: string): string {
  return word.includes(".") ? word : `v1.${word}`;
}

function parseDefault(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+$/.test(text) ? Number(text) : text;
}
