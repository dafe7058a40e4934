import { canonicalQuantity } from "../../staging/apimachinery/quantity.js";
import { isRecord, isSet } from "../../util/records.js";

/**
 * Writes values as Go's encoding/json writes the API's structs: fields in the order of the struct, without empty ones
 * that are marked `omitempty`. Two programs get the same hash only if both write the same text.
 */

/**
 * A struct: its fields in order. Suffixes of a name: `!` is written even when empty; `*` is a pointer, so written when
 * set, empty or not; `:TYPE` is the type of the value; `:quantity` a quantity, written even when unset; `:amounts` a
 * map of quantities; `:=TYPE` a struct that is always written.
 */
export type GoStruct = readonly string[];
export type GoTypes = Readonly<Record<string, GoStruct>>;

const FIELD = /^(\w+)([!*]?)(?::(=?)(\w+))?$/;

/** @throws Error for a table that names an unknown type */
export function goJson(types: GoTypes, type: string, value: unknown): string {
  const struct = types[type];
  if (struct === undefined) throw new Error(`there is no type ${type}`);
  const fields = isRecord(value) ? value : {};
  const parts = struct.flatMap((notation) => {
    const [, name = "", mark = "", always = "", inner] = FIELD.exec(notation) ?? [];
    const field = fields[name];
    const isWritten =
      mark === "!" || always !== "" || inner === "quantity" || (mark === "*" ? isSet(field) : !isEmpty(field));
    return isWritten ? [`${goString(name)}:${goField(types, inner, mark, always !== "", field)}`] : [];
  });
  return `{${parts.join(",")}}`;
}

function goField(types: GoTypes, inner: string | undefined, mark: string, isStruct: boolean, value: unknown): string {
  if (inner === undefined) return goValue(value, mark);
  if (inner === "quantity") return goQuantity(value);
  if (inner === "amounts") return goMap(value);
  if (Array.isArray(value)) return `[${value.map((item) => goJson(types, inner, item)).join(",")}]`;
  return isSet(value) || isStruct ? goJson(types, inner, value) : "null";
}

function goValue(value: unknown, mark: string): string {
  if (!isSet(value)) return mark === "!" ? '""' : "null";
  if (typeof value === "string") return goString(value);
  if (Array.isArray(value)) return `[${value.map((item) => goValue(item, "!")).join(",")}]`;
  return JSON.stringify(value);
}

function goMap(value: unknown): string {
  const entries = Object.entries(isRecord(value) ? value : {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, amount]) => `${goString(key)}:${goQuantity(amount)}`).join(",")}}`;
}

function goQuantity(value: unknown): string {
  const text = canonicalQuantity(value ?? 0);
  return text === undefined ? goValue(value, "!") : goString(text);
}

/** Go escapes <, > and &, has short escapes for only three control characters, and replaces lone surrogates. */
export function goString(text: string): string {
  return JSON.stringify(Buffer.from(text).toString()).replace(
    /[<>&\u2028\u2029]|\\b|\\f|\\\\/g,
    (found) => ESCAPES[found] ?? `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const ESCAPES: Readonly<Record<string, string>> = { "\\\\": "\\\\", "\\b": "\\u0008", "\\f": "\\u000c" };

/** Reports values that `omitempty` leaves out. */
function isEmpty(value: unknown): boolean {
  if (!isSet(value) || value === "" || value === 0 || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return false;
}
