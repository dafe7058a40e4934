import type { ObjectMeta } from "./meta.js";

/** `namespace/name`, or the name alone for a cluster-scoped object. Mirrors MetaNamespaceKeyFunc in tools/cache/store.go. */
export function keyOf(object: { readonly metadata: ObjectMeta }): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined || namespace === "" ? (name ?? "") : `${namespace}/${name ?? ""}`;
}

/** Splits what `keyOf` made. Mirrors SplitMetaNamespaceKey. */
export function splitKey(key: string): { readonly namespace: string | undefined; readonly name: string } {
  const slash = key.indexOf("/");
  return slash < 0
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
