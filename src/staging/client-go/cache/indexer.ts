import type { KubeObject } from "../../apimachinery/api/meta.js";

/** The value by which an object is found. */
export type IndexFunc<T> = (object: T) => string;

/**
 * Objects by key, and by the values of index functions, so that a reader of a few objects does not search thousands.
 *
 * Mirrors ThreadSafeStore in k8s.io/client-go/tools/cache/thread_safe_store.go.
 * Differs: an object has one value in each index; an index is built at its first use.
 */
export class Indexer<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #indices = new Map<IndexFunc<T>, Map<string, Map<string, T>>>();

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** A snapshot, in the order in which the objects were added. */
  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  entries(): IterableIterator<[key: string, object: T]> {
    return this.#objects.entries();
  }

  /** A snapshot of the objects for which the function gives the value, in the order in which they got it. */
  byIndex(indexFunc: IndexFunc<T>, value: string): readonly T[] {
    const index = this.#indices.get(indexFunc) ?? this.#addIndex(indexFunc);
    return [...(index.get(value)?.values() ?? [])];
  }

  #addIndex(indexFunc: IndexFunc<T>): Map<string, Map<string, T>> {
    const index = new Map<string, Map<string, T>>();
    this.#indices.set(indexFunc, index);
    for (const [key, object] of this.#objects) put(index, indexFunc(object), key, object);
    return index;
  }

  set(key: string, object: T): void {
    const before = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const [indexFunc, index] of this.#indices) {
      const value = indexFunc(object);
      const old = before === undefined ? undefined : indexFunc(before);
      if (old !== undefined && old !== value) drop(index, old, key);
      put(index, value, key, object);
    }
  }

  /** @returns whether it was there */
  delete(key: string): boolean {
    const before = this.#objects.get(key);
    if (before === undefined) return false;
    this.#objects.delete(key);
    for (const [indexFunc, index] of this.#indices) drop(index, indexFunc(before), key);
    return true;
  }
}

function put<T>(index: Map<string, Map<string, T>>, value: string, key: string, object: T): void {
  const group = index.get(value);
  if (group === undefined) index.set(value, new Map([[key, object]]));
  else group.set(key, object);
}

function drop<T>(index: Map<string, Map<string, T>>, value: string, key: string): void {
  const group = index.get(value);
  group?.delete(key);
  if (group?.size === 0) index.delete(value);
}
