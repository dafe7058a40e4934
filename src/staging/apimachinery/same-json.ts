import { ownValue } from "./own.js";

/** Compares JSON documents: ignores the order of keys, and keys whose value is undefined. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!sameJson(a[i], b[i])) return false;
    return true;
  }
  if (Array.isArray(b)) return false;
  const left = a as Readonly<Record<string, unknown>>;
  const right = b as Readonly<Record<string, unknown>>;
  for (const key in left) if (!sameJson(left[key], ownValue(right, key))) return false;
  for (const key in right) if (right[key] !== undefined && ownValue(left, key) === undefined) return false;
  return true;
}
