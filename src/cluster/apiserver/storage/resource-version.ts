import type { KubeObject, ObjectMeta } from "../../../staging/apimachinery/api/meta.js";
import type { Draft } from "../../../util/draft.js";

/**
 * Metadata with its fields in the order of Go's struct, like the API server's. Omits absent fields and managedFields.
 * @param resourceVersion replaces the object's own; every write sets it, so this saves a copy
 */
export function orderedMeta(meta: ObjectMeta, resourceVersion = meta.resourceVersion): ObjectMeta {
  const ordered: Draft<ObjectMeta> = {};
  if (meta.name !== undefined) ordered.name = meta.name;
  if (meta.generateName !== undefined) ordered.generateName = meta.generateName;
  if (meta.namespace !== undefined) ordered.namespace = meta.namespace;
  if (meta.uid !== undefined) ordered.uid = meta.uid;
  if (resourceVersion !== undefined) ordered.resourceVersion = resourceVersion;
  if (meta.generation !== undefined) ordered.generation = meta.generation;
  if (meta.creationTimestamp !== undefined) ordered.creationTimestamp = meta.creationTimestamp;
  if (meta.deletionTimestamp !== undefined) ordered.deletionTimestamp = meta.deletionTimestamp;
  if (meta.deletionGracePeriodSeconds !== undefined)
    ordered.deletionGracePeriodSeconds = meta.deletionGracePeriodSeconds;
  if (meta.labels !== undefined) ordered.labels = meta.labels;
  if (meta.annotations !== undefined) ordered.annotations = meta.annotations;
  if (meta.ownerReferences !== undefined) ordered.ownerReferences = meta.ownerReferences;
  if (meta.finalizers !== undefined) ordered.finalizers = meta.finalizers;
  return ordered;
}

/** The object with the given resourceVersion. */
export function withResourceVersion(object: KubeObject, revision: number): KubeObject {
  const copy: Draft<KubeObject> = { ...object };
  copy.metadata = orderedMeta(object.metadata, String(revision));
  return copy;
}

/**
 * The object's JSON as a storage keeps it: without its resourceVersion, whose place the key's revision takes.
 * @param managedFields of the version before: no object has them here
 * Mirrors k8s.io/apiserver/pkg/storage/api_object_versioner.go (PrepareObjectForStorage).
 */
export function storedJson(object: KubeObject, managedFields?: unknown): string {
  const { resourceVersion: _, ...metadata } = object.metadata;
  const ordered = orderedMeta(metadata);
  return JSON.stringify({ ...object, metadata: managedFields === undefined ? ordered : { ...ordered, managedFields } });
}
