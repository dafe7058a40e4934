import type { KubeObject, OwnerReference } from "../../../staging/apimachinery/api/meta.js";
import { nameOf } from "../../../staging/apimachinery/api/objects.js";

/** Mirrors metav1.GetControllerOf. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** Mirrors metav1.NewControllerRef. */
export function newControllerRef(owner: KubeObject): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: nameOf(owner),
    uid: owner.metadata.uid ?? "",
    controller: true,
    blockOwnerDeletion: true,
  };
}

/**
 * The owner that a reference names, unless it has another kind or was replaced by an object of the same name.
 * Mirrors resolveControllerRef in pkg/controller/replicaset/replica_set.go.
 * @param lookUp reads the cache
 */
export function resolveControllerRef<T extends KubeObject>(
  kind: string,
  ref: OwnerReference,
  lookUp: (name: string) => T | undefined,
): T | undefined {
  if (ref.kind !== kind) return undefined;
  const owner = lookUp(ref.name);
  return owner?.metadata.uid === ref.uid ? owner : undefined;
}
