import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import type { Constant } from "../../../trace/events.js";
import { ObjectCacheItem, type ObjectCacheItemDeps, type ObjectRef } from "./object-cache-item.js";

/** How long a pod waits for the first list. Mirrors Get in pkg/kubelet/util/manager/watch_based_manager.go. */
export const SYNC_TIMEOUT_MS = 1_000;
/** Five times the kubelet's resync, because each resync reads what volumes show. Mirrors NewWatchBasedManager. */
export const MAX_IDLE_TIME_MS = 300_000;
/** Mirrors NewObjectCache. */
const RECYCLE_PERIOD_MS = 60_000;

/** The result of reading a ConfigMap or Secret. */
export type ObjectResult =
  | { readonly outcome: "ok"; readonly object: KubeObject }
  | { readonly outcome: "not-found" | "failed"; readonly message: string };

/**
 * The objects of one kind that this node's pods reference. Each has its own list and watch, shared by all pods: the
 * Node authorizer lets a node read only these objects, so it cannot watch a whole namespace.
 *
 * Mirrors objectCache in pkg/kubelet/util/manager/watch_based_manager.go.
 * Differs: each watch has its own connection, where client-go shares one HTTP/2 connection.
 */
export class ObjectCache implements AsyncDisposable {
  /** by `namespace/name` */
  readonly #items = new Map<string, ObjectCacheItem>();
  readonly #stopping = new Set<Promise<void>>();
  #isClosed = false;

  constructor(
    readonly deps: ObjectCacheItemDeps,
    readonly kind: ObjectRef["kind"],
  ) {}

  /** The number of cached objects. */
  get size(): number {
    return this.#items.size;
  }

  /** The number of watched objects. */
  get watches(): number {
    return [...this.#items.values()].filter(({ isWatched }) => isWatched).length;
  }

  /** Adds a pod's reference. The first one starts the watch, without waiting for it. */
  addReference(namespace: string, name: string): void {
    if (this.#isClosed) return;
    const key = `${namespace}/${name}`;
    const item = this.#items.get(key) ?? new ObjectCacheItem(this.deps, { kind: this.kind, namespace, name });
    this.#items.set(key, item);
    item.refCount++;
  }

  /** Removes a pod's reference; the last one removes the object. */
  deleteReference(namespace: string, name: string): void {
    const key = `${namespace}/${name}`;
    const item = this.#items.get(key);
    if (item === undefined || --item.refCount > 0) return;
    this.#items.delete(key);
    this.#stop(item);
  }

  /**
   * The last known object. Waits up to a second (real time, because the API server needs it) for the first list.
   * @returns `configmap "x" not found` and the like as values. @throws the signal's reason
   */
  async get(namespace: string, name: string, signal: AbortSignal): Promise<ObjectResult> {
    const { clock } = this.deps;
    const item = this.#items.get(`${namespace}/${name}`);
    if (item === undefined) {
      return {
        outcome: "failed",
        message: `object ${JSON.stringify(namespace)}/${JSON.stringify(name)} not registered`,
      };
    }
    item.lastAccessMs = clock.now();
    if (!this.#isClosed) item.startIfNeeded();
    const timeoutMs = SYNC_TIMEOUT_MS * Math.max(1, clock.speed ?? 1);
    if (!(item.hasSynced || (await item.waitForSync(timeoutMs, signal)))) {
      const message = `failed to sync ${this.kind} cache: timed out waiting for the condition`;
      return { outcome: "failed", message };
    }
    const { object } = item;
    if (object === undefined) {
      return { outcome: "not-found", message: `${this.kind} ${JSON.stringify(name)} not found` };
    }
    if (object["immutable"] === true && item.isWatched) {
      item.setImmutable();
      this.#stopWatching(item, "it is immutable", []);
    }
    return { outcome: "ok", object };
  }

  /**
   * Ends watches of objects that were not read for five minutes, until `signal` aborts. The next read starts a new
   * watch.
   * Mirrors startRecycleIdleWatch. @throws the signal's reason
   */
  async recycleIdleWatches(signal: AbortSignal): Promise<never> {
    const { clock } = this.deps;
    const constants = [{ name: "maxIdleTime", value: `${MAX_IDLE_TIME_MS / 60_000} min`, release: "v1.25" }];
    for (;;) {
      await clock.sleep(RECYCLE_PERIOD_MS, signal);
      for (const item of this.#items.values()) {
        // An item is idle only after its first list: a slow API server's work would be wasted.
        const isIdle = item.hasSynced && clock.now() > item.lastAccessMs + MAX_IDLE_TIME_MS;
        if (item.isWatched && isIdle) this.#stopWatching(item, "it was not read lately", constants);
      }
    }
  }

  /** Ends all watches and waits for their ends; no new one starts. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const item of this.#items.values()) this.#stop(item);
    await Promise.all(this.#stopping);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #stopWatching(item: ObjectCacheItem, why: string, constants: readonly Constant[]): void {
    item.observer.stopsWatching(why, constants);
    this.#stop(item);
  }

  #stop(item: ObjectCacheItem): void {
    const stopping: Promise<void> = item.stop().finally(() => this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }
}
