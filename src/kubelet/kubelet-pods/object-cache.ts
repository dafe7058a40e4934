import type { KubeObject } from "../../apimachinery/api/meta.js";
import type { Constant } from "../../trace/events.js";
import { ObjectCacheItem, type ObjectCacheItemDeps, type ObjectRef } from "./object-cache-item.js";

/** So long a pod waits for the first list. Mirrors Get in pkg/kubelet/util/manager/watch_based_manager.go. */
export const SYNC_TIMEOUT_MS = 1_000;
/** Five times the kubelet's resync: what volumes show is asked for in each. Mirrors NewWatchBasedManager. */
export const MAX_IDLE_TIME_MS = 300_000;
/** Mirrors NewObjectCache. */
const RECYCLE_PERIOD_MS = 60_000;

/** What asking for a ConfigMap or Secret brought. */
export type ObjectResult =
  | { readonly outcome: "ok"; readonly object: KubeObject }
  | { readonly outcome: "not-found" | "failed"; readonly message: string };

/**
 * Objects of one kind that pods of this node name, each followed by a list and a watch of its own, however many pods name it:
 * a node may read no other (see the Node authorizer), so it cannot watch all of a namespace.
 *
 * Mirrors objectCache in pkg/kubelet/util/manager/watch_based_manager.go.
 * Differs: each watch has a connection of its own, where client-go has all of them on one, as streams of HTTP/2.
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

  /** How many objects are kept. */
  get size(): number {
    return this.#items.size;
  }

  /** How many of them are watched. */
  get watches(): number {
    return [...this.#items.values()].filter(({ isWatched }) => isWatched).length;
  }

  /** One pod more names it: the first begins to watch it, and waits for nothing. */
  addReference(namespace: string, name: string): void {
    if (this.#isClosed) return;
    const key = `${namespace}/${name}`;
    const item = this.#items.get(key) ?? new ObjectCacheItem(this.deps, { kind: this.kind, namespace, name });
    this.#items.set(key, item);
    item.refCount++;
  }

  /** One pod less; with the last one it is forgotten. */
  deleteReference(namespace: string, name: string): void {
    const key = `${namespace}/${name}`;
    const item = this.#items.get(key);
    if (item === undefined || --item.refCount > 0) return;
    this.#items.delete(key);
    this.#stop(item);
  }

  /**
   * The object as it was last seen. Waits up to a second (of the wall: it is the API server that takes it) for the first list.
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
   * Ends the watches of what nobody has asked for in five minutes, until `signal` aborts. The next one who asks begins anew.
   * Mirrors startRecycleIdleWatch. @throws the signal's reason
   */
  async recycleIdleWatches(signal: AbortSignal): Promise<never> {
    const { clock } = this.deps;
    const constants = [{ name: "maxIdleTime", value: `${MAX_IDLE_TIME_MS / 60_000} min`, release: "v1.25" }];
    for (;;) {
      await clock.sleep(RECYCLE_PERIOD_MS, signal);
      for (const item of this.#items.values()) {
        // Before the first list there is nothing to be idle: a slow API server would have worked for nothing.
        const isIdle = item.hasSynced && clock.now() > item.lastAccessMs + MAX_IDLE_TIME_MS;
        if (item.isWatched && isIdle) this.#stopWatching(item, "nobody has asked for it lately", constants);
      }
    }
  }

  /** Ends all watches and waits for their ends. None begins any more. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const item of this.#items.values()) this.#stop(item);
    await Promise.all(this.#stopping);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #stopWatching(item: ObjectCacheItem, why: string, constants: readonly Constant[]): void {
    const { namespace, name } = item.ref;
    const what = `stop watching ${this.kind} ${namespace}/${name}`;
    this.deps.trace.emit({ kind: "decision", what, why, constants }, { actor: "kubelet", level: 2 });
    this.#stop(item);
  }

  #stop(item: ObjectCacheItem): void {
    const stopping: Promise<void> = item.stop().finally(() => this.#stopping.delete(stopping));
    this.#stopping.add(stopping);
  }
}
