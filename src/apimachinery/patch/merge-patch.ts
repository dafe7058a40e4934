import { isRecord } from "../../util/records.js";
import { ownValue, setOwnValue } from "../own.js";
import { sortKeys } from "./json-patch.js";

/**
 * JSON merge patch, RFC 7386: null removes, objects merge, everything else (lists as well) replaces.
 * Mirrors MergePatch of github.com/evanphx/json-patch v4.
 * Differs: null inside a list stays, as the RFC says; the library mostly drops it. Neither the document nor the patch is changed; an object that
 * the patch touched has its keys sorted, as upstream's messages show it.
 */
export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged: Record<string, unknown> = isRecord(document) ? { ...document } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else setOwnValue(merged, key, applyMergePatch(ownValue(merged, key), value));
  }
  return sortKeys(merged);
}
