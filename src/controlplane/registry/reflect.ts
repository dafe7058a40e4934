import type { KubeObject } from "../../apimachinery/api/meta.js";
import { keyOf } from "../../client-go/cache/key.js";
import type { ListOptions, ResourceStore, WatchItem } from "./registry.js";

type ReflectOptions = Pick<ListOptions, "labelSelector" | "fieldSelector"> & { readonly namespace?: string };

/**
 * Lists, then watches, and lists again when the watch breaks, until `signal` aborts (a normal end). Objects that disappeared
 * meanwhile are reported as `deleted` before the new list.
 *
 * Mirrors k8s.io/client-go/tools/cache/reflector.go (ListAndWatch) with its store.
 */
export async function* reflectObjects<T extends KubeObject>(
  store: ResourceStore,
  signal: AbortSignal,
  options: ReflectOptions = {},
): AsyncGenerator<WatchItem<T>> {
  const { namespace, ...selectors } = options;
  const known = new Map<string, T>();
  while (!signal.aborted) {
    const list = await store.list(namespace, selectors);
    const fresh = new Map(list.items.map((object) => [keyOf(object), object as T]));
    for (const [key, object] of known) if (!fresh.has(key)) yield { type: "deleted", object };
    known.clear();
    for (const [key, object] of fresh) {
      known.set(key, object);
      if (signal.aborted) return;
      yield { type: "init", object };
    }
    yield { type: "initDone" };
    const { resourceVersion = "" } = list.metadata;
    for await (const { type, object } of store.watch(namespace, { ...selectors, resourceVersion }, signal)) {
      if (type === "ERROR") break;
      const item = changeOf(known, type, object as T);
      if (item !== undefined) yield item;
    }
  }
}

function changeOf<T extends KubeObject>(known: Map<string, T>, type: string, object: T): WatchItem<T> | undefined {
  const key = keyOf(object);
  switch (type) {
    case "ADDED":
    case "MODIFIED": {
      const previous = known.get(key);
      known.set(key, object);
      return { type: "applied", object, previous };
    }
    case "DELETED":
      known.delete(key);
      return { type: "deleted", object };
    default:
      return undefined;
  }
}
