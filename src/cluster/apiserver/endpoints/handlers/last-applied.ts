import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { goMapJson } from "../../../../staging/apimachinery/go-map-json.js";
import { isRecord } from "../../../../util/records.js";

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
  const text = `${goMapJson(withoutItself(applied))}\n`;
  return { ...object, metadata: { ...metadata, annotations: { ...annotations, [LAST_APPLIED]: text } } };
}

/** The annotation does not contain itself. Mirrors buildLastApplied. */
function withoutItself(applied: unknown): unknown {
  if (!isRecord(applied) || !isRecord(applied["metadata"]) || !isRecord(applied["metadata"]["annotations"]))
    return applied;
  const { [LAST_APPLIED]: _, ...annotations } = applied["metadata"]["annotations"];
  return { ...applied, metadata: { ...applied["metadata"], annotations } };
}
