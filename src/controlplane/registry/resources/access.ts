import { ownValue } from "../../../apimachinery/own.js";
import { isRecord } from "../../../util/records.js";
/** Reading fields of objects whose shape the schema engine has already checked: a wrong or absent value reads as empty. */

export type Fields = Readonly<Record<string, unknown>>;

const NO_FIELDS: Fields = Object.freeze({});
const NO_ITEMS: readonly unknown[] = Object.freeze([]);

/** The object in a field; `{}` for any other value. */
export function fields(value: unknown): Fields {
  return isRecord(value) ? value : NO_FIELDS;
}

export function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : NO_ITEMS;
}

/** The text in a field; "" for any other value, like an unset Go string. */
export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function number(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

export function bool(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

/** Compares as JSON, in any order of keys. Absent, null, `{}`, `[]` and "" are equal, as in apiequality.Semantic. */
export function semanticallyEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isEmptyValue(a) && isEmptyValue(b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((one, index) => semanticallyEqual(one, b[index]));
  }
  if (isRecord(a) && isRecord(b)) {
    for (const key of Object.keys(a)) if (!semanticallyEqual(a[key], ownValue(b, key))) return false;
    for (const key of Object.keys(b)) if (!Object.hasOwn(a, key) && !isEmptyValue(b[key])) return false;
    return true;
  }
  return false;
}

function isEmptyValue(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && Object.values(value).every(isEmptyValue);
}
