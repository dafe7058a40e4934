import { isRecord } from "../../../util/records.js";
import { ownValue, setOwnValue } from "../own.js";
import { sortKeys } from "./json-patch.js";

/**
 * JSON merge patch, RFC 7386: null removes, objects merge, everything else (also lists) replaces.
 * Mirrors MergePatch of github.com/evanphx/json-patch v4.
 * Differs: null inside a list stays, as in the RFC; the library usually drops it. Neither the document nor the patch is
 * changed; objects that the patch modifies get sorted keys, as in upstream's messages.
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
