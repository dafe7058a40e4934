import { isAtLeast } from "../../../release/facts.js";

/**
 * Types as Go's reflection tells them, in a notation of one line per field:
 *
 *     Name string                        the field's name in Go, its type
 *     Protocol string:Protocol           a string that has a name of its own; of this package, or string:types.UID
 *     Overhead ResourceList              bool, int32, int64, Quantity, IntOrString, Time, ResourceList
 *     Labels map                         of strings to strings
 *     Items []KeyToPath                  a list; *KeyToPath: a pointer; KeyToPath: the struct itself
 *     VolumeSource VolumeSource inline   its fields are fields of the struct around it in JSON
 *     StorageOS *X json=storageos        where JSON's name is not the same word: HTTPGet is httpGet
 *     Handler X until=1.22               the last release that has it; since=1.23: the first one
 *
 * A struct that no table describes has a name only: it can be absent.
 */
export type GoType =
  | { readonly kind: "string" | "map"; readonly name: string }
  | { readonly kind: "bool" | "int32" | "int64" | "Quantity" | "IntOrString" | "Time" | "ResourceList" }
  | { readonly kind: "struct"; readonly name: string }
  | { readonly kind: "pointer" | "slice"; readonly of: GoType };

export interface GoField {
  readonly name: string;
  readonly type: GoType;
  /** undefined: the fields of the struct are beside it */
  readonly json: string | undefined;
}

/** By the struct's name: `Pod` for core.Pod, `v1.ObjectMeta` for another package's. */
export type GoTable = Readonly<Record<string, string>>;

const SCALARS = ["bool", "int32", "int64", "Quantity", "IntOrString", "Time", "ResourceList"] as const;
const GO_NAMES: Readonly<Record<(typeof SCALARS)[number], string>> = {
  bool: "bool",
  int32: "int32",
  int64: "int64",
  Quantity: "resource.Quantity",
  IntOrString: "intstr.IntOrString",
  Time: "v1.Time",
  ResourceList: "core.ResourceList",
};

/** As %T prints it: `*core.Probe`, `[]core.Container`. */
export function goTypeName(type: GoType): string {
  switch (type.kind) {
    case "pointer":
      return `*${goTypeName(type.of)}`;
    case "slice":
      return `[]${goTypeName(type.of)}`;
    case "string":
    case "map":
    case "struct":
      return type.name;
    default:
      return GO_NAMES[type.kind];
  }
}

/**
 * The fields of a struct in the order of its declaration, as a release has them.
 * @param kubeVersion `1.25`
 * @returns undefined when the table does not describe the struct
 */
export function goFields(table: GoTable, struct: string, kubeVersion: string): GoField[] | undefined {
  const key = struct.startsWith("core.") ? struct.slice("core.".length) : struct;
  const lines = table[key]?.split("\n").map((line) => line.trim());
  return lines?.filter((line) => line !== "").flatMap((line) => parseField(line, kubeVersion));
}

function parseField(line: string, kubeVersion: string): GoField[] {
  const [name = "", type = "", ...attributes] = line.split(/\s+/);
  const attribute = (key: string) => attributes.find((word) => word.startsWith(`${key}=`))?.slice(key.length + 1);
  const since = attribute("since");
  const until = attribute("until");
  if (since !== undefined && !isAtLeast(kubeVersion, since)) return [];
  if (until !== undefined && !isAtLeast(until, kubeVersion)) return [];
  const json = attributes.includes("inline") ? undefined : (attribute("json") ?? jsonName(name));
  return [{ name, type: parseType(type), json }];
}

function parseType(word: string): GoType {
  if (word.startsWith("*")) return { kind: "pointer", of: parseType(word.slice(1)) };
  if (word.startsWith("[]")) return { kind: "slice", of: parseType(word.slice(2)) };
  if (word === "map") return { kind: "map", name: "map[string]string" };
  if (word === "string") return { kind: "string", name: "string" };
  if (word.startsWith("string:")) return { kind: "string", name: qualified(word.slice("string:".length)) };
  const scalar = SCALARS.find((kind) => kind === word);
  return scalar === undefined ? { kind: "struct", name: qualified(word) } : { kind: scalar };
}

function qualified(name: string): string {
  return name.includes(".") ? name : `core.${name}`;
}

/** The capitals at the front are one word, but for the last one before a small letter: HTTPGet, OS, SELinuxOptions, Name. */
function jsonName(name: string): string {
  return name.replace(/^(?:[A-Z]+(?![a-z])|[A-Z])/, (word) => word.toLowerCase());
}
