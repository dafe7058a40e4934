import { isRecord } from "../../util/records.js";
import { ownValue } from "./own.js";

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
