import type { KubeObject } from "../../apimachinery/api/meta.js";
import { isRecord } from "../../util/records.js";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
/** The field manager of `kubectl apply --server-side`, whose client also knows the annotation. */
const KUBECTL = "kubectl";

/**
 * Copies a server-side apply into the annotation of client-side `kubectl apply`, so that users can switch between the
 * two.
 * Only for objects that already have the annotation.
 * Mirrors k8s.io/apimachinery/pkg/util/managedfields/lastappliedupdater.go (Apply).
 */
export function syncLastApplied(object: KubeObject, applied: unknown, manager: string): KubeObject {
  const { metadata } = object;
  const { annotations } = metadata;
  if (manager !== KUBECTL || annotations?.[LAST_APPLIED] === undefined) return object;
  const text = `${goJson(withoutItself(applied))}\n`;
  return { ...object, metadata: { ...metadata, annotations: { ...annotations, [LAST_APPLIED]: text } } };
}

/** The annotation does not contain itself. Mirrors buildLastApplied. */
function withoutItself(applied: unknown): unknown {
  if (!isRecord(applied) || !isRecord(applied["metadata"]) || !isRecord(applied["metadata"]["annotations"]))
    return applied;
  const { [LAST_APPLIED]: _, ...annotations } = applied["metadata"]["annotations"];
  return { ...applied, metadata: { ...applied["metadata"], annotations } };
}

/** Encodes maps as Go's JSON encoder does: keys sorted, HTML characters escaped. */
function goJson(value: unknown): string {
  const sorted = JSON.stringify(value, (_, inner: unknown) =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
  return sorted.replace(/[<>&\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
