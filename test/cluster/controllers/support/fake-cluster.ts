import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { keyOf } from "../../../../src/staging/apimachinery/api/object-key.js";
import type { DeleteOptions } from "../../../../src/staging/apimachinery/api/options.js";
import { alreadyExists, conflict, notFound } from "../../../../src/staging/apimachinery/errors.js";
import { rfc3339 } from "../../../../src/staging/apimachinery/time.js";
import type { LocalClient, WatchItem } from "../../../../src/staging/client-go/dynamic/interface.js";
import type { UserInfo } from "../../../../src/staging/server/authentication/user.js";
import { AsyncQueue } from "../../../../src/util/async/async-queue.js";
import type { Clock } from "../../../../src/util/clock.js";

export interface Change {
  readonly atMs: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly resource: string;
  readonly object: KubeObject;
  readonly previous: KubeObject | undefined;
}

/**
 * The part of an API server that controllers need, in memory and on a fake clock: uids, revisions, conflicts, graceful
 * deletion of pods, finalizers. Its only admission adds the not-ready taint to new nodes.
 */
export class FakeCluster {
  readonly changes: Change[] = [];
  /** `verb resource` -> an error to throw, until the entry is removed */
  readonly failing = new Map<string, unknown>();
  readonly #clock: Clock;
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #watchers = new Map<string, Set<AsyncQueue<WatchItem>>>();
  #revision = 1;
  /** number of started watches */
  watchCount = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  client(user: UserInfo = { username: "test", groups: [] }): LocalClient {
    const generic = <T>(value: unknown) => value as T;
    return {
      user,
      get: async (resource, namespace, name) => generic(this.get(resource, namespace, name)),
      list: async (resource, namespace) => {
        this.#mayFail("list", resource);
        return generic(
          this.list(resource).filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace),
        );
      },
      create: async (resource, _namespace, object) => generic(this.create(resource, object)),
      update: async (resource, object) => generic(this.#update(resource, object)),
      modify: async (resource, namespace, name, change) => {
        this.#mayFail("modify", resource);
        const current = this.get(resource, namespace, name);
        if (current === undefined) return undefined;
        const next = change(generic(current));
        return generic(next === current ? current : this.#update(resource, next));
      },
      patch: async () => {
        throw new Error("these controllers only modify");
      },
      delete: async (resource, namespace, name, options) => {
        this.#mayFail("delete", resource);
        return this.delete(resource, namespace, name, options);
      },
      reflect: (resource, signal) => generic(this.#reflect(resource, signal)),
    };
  }

  get(resource: string, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#of(resource).get(namespace === undefined ? name : `${namespace}/${name}`);
  }

  list(resource: string): KubeObject[] {
    return [...this.#of(resource).values()];
  }

  create(resource: string, object: KubeObject): KubeObject {
    this.#mayFail("create", resource);
    const { name = "" } = object.metadata;
    if (this.#of(resource).has(keyOf(object))) throw alreadyExists({ group: "", resource }, name);
    const uid = object.metadata.uid ?? `uid-${resource}-${name}-${this.#revision}`;
    const metadata = { ...object.metadata, uid, creationTimestamp: rfc3339(this.#clock.now()) };
    const spec = resource === "nodes" ? { ...(object["spec"] as object), taints: [NOT_READY] } : object["spec"];
    const full = { ...object, metadata, ...(spec === undefined ? {} : { spec }) };
    return this.#store(resource, full, "ADDED");
  }

  /** Changes an object as a kubelet or an administrator: replaces parts of it. */
  patch(
    resource: string,
    namespace: string | undefined,
    name: string,
    change: (object: KubeObject) => KubeObject,
  ): KubeObject {
    const current = this.get(resource, namespace, name);
    if (current === undefined) throw notFound({ group: "", resource }, name);
    return this.#update(resource, change(current));
  }

  delete(resource: string, namespace: string | undefined, name: string, options: DeleteOptions = {}): boolean {
    const current = this.get(resource, namespace, name);
    if (current === undefined) return false;
    const { uid } = options.preconditions ?? {};
    if (uid !== undefined && uid !== current.metadata.uid) throw conflict({ group: "", resource }, name, "uid");
    const finalizer = { Foreground: "foregroundDeletion", Orphan: "orphan" }[options.propagationPolicy ?? ""];
    const finalizers = [...(current.metadata.finalizers ?? []), ...(finalizer === undefined ? [] : [finalizer])];
    const marked = {
      ...current.metadata,
      deletionTimestamp: rfc3339(this.#clock.now()),
      deletionGracePeriodSeconds: 0,
    };
    if (finalizers.length > 0 || resource === "namespaces") {
      if (current.metadata.deletionTimestamp === undefined) {
        this.#store(
          resource,
          { ...current, metadata: { ...marked, ...(finalizers.length > 0 ? { finalizers } : {}) } },
          "MODIFIED",
        );
      }
      return true;
    }
    const graceSeconds =
      resource === "pods" && podNode(current) !== "" ? (options.gracePeriodSeconds ?? 30) : undefined;
    if (graceSeconds !== undefined && graceSeconds > 0) {
      if (current.metadata.deletionTimestamp !== undefined) return true;
      const deletionTimestamp = rfc3339(this.#clock.now() + graceSeconds * 1000);
      this.#store(
        resource,
        { ...current, metadata: { ...marked, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds } },
        "MODIFIED",
      );
      return true;
    }
    if (resource === "pods") this.#store(resource, { ...current, metadata: marked }, "MODIFIED");
    this.#remove(resource, keyOf(current));
    return true;
  }

  /** Ends every watch of a resource with an error, like a broken connection. */
  breakWatches(resource: string, error: Error): void {
    for (const watcher of this.#watchers.get(resource) ?? []) watcher.fail(error);
  }

  #update(resource: string, object: KubeObject): KubeObject {
    const current = this.#of(resource).get(keyOf(object));
    const name = object.metadata.name ?? "";
    if (current === undefined) throw notFound({ group: "", resource }, name);
    if (current.metadata.resourceVersion !== object.metadata.resourceVersion) {
      throw conflict({ group: "", resource }, name, "the object has been modified");
    }
    if (JSON.stringify(current) === JSON.stringify(object)) return current;
    const stored = this.#store(resource, object, "MODIFIED");
    const isFree = (object.metadata.finalizers ?? []).length === 0 && namespaceFinalizers(object).length === 0;
    if (isFree && object.metadata.deletionTimestamp !== undefined && resource !== "pods")
      this.#remove(resource, keyOf(object));
    return stored;
  }

  #store(resource: string, object: KubeObject, type: "ADDED" | "MODIFIED"): KubeObject {
    const key = keyOf(object);
    const previous = this.#of(resource).get(key);
    this.#revision++;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
    this.#of(resource).set(key, stored);
    this.changes.push({ atMs: this.#clock.now(), type, resource, object: stored, previous });
    this.#send(resource, { type: "applied", object: stored, previous });
    return stored;
  }

  #remove(resource: string, key: string): void {
    const last = this.#of(resource).get(key);
    if (last === undefined) return;
    this.#of(resource).delete(key);
    this.changes.push({ atMs: this.#clock.now(), type: "DELETED", resource, object: last, previous: last });
    this.#send(resource, { type: "deleted", object: last });
  }

  async *#reflect(resource: string, signal: AbortSignal): AsyncGenerator<WatchItem> {
    this.#mayFail("reflect", resource);
    this.watchCount++;
    const queue = new AsyncQueue<WatchItem>();
    for (const object of this.list(resource)) queue.push({ type: "init", object });
    queue.push({ type: "initDone" });
    const watchers = this.#watchers.get(resource) ?? new Set();
    this.#watchers.set(resource, watchers.add(queue));
    try {
      yield* queue.iterate(signal);
    } finally {
      watchers.delete(queue);
    }
  }

  #send(resource: string, item: WatchItem): void {
    for (const watcher of this.#watchers.get(resource) ?? []) watcher.push(item);
  }

  #of(resource: string): Map<string, KubeObject> {
    const known = this.#objects.get(resource) ?? new Map<string, KubeObject>();
    this.#objects.set(resource, known);
    return known;
  }

  #mayFail(verb: string, resource: string): void {
    const error = this.failing.get(`${verb} ${resource}`);
    if (error !== undefined) throw error;
  }
}

const NOT_READY = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

function podNode(pod: KubeObject): string {
  return (pod["spec"] as { nodeName?: string } | undefined)?.nodeName ?? "";
}

function namespaceFinalizers(object: KubeObject): readonly string[] {
  return (object["spec"] as { finalizers?: string[] } | undefined)?.finalizers ?? [];
}
