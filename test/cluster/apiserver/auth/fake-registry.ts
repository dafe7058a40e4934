import assert from "node:assert/strict";
import type { Registry, ResourceStore } from "../../../../src/cluster/apiserver/registry/rest/registry.js";
import type { KubeList, KubeObject, WatchEvent } from "../../../../src/staging/apimachinery/api/meta.js";
import type { WatchOptions } from "../../../../src/staging/apimachinery/api/options.js";
import { notFound } from "../../../../src/staging/apimachinery/errors.js";
import { AsyncQueue } from "../../../../src/util/async/async-queue.js";

/**
 * Stored objects by resource, with one counter of revisions. `holdEvents` delays watch events, to show what happens
 * between a write and its event.
 */
export class FakeRegistry implements Registry {
  readonly definitions = [];
  serve(): void {}
  onChange(): void {}
  holdEvents = false;
  #revision = 1;
  #uids = 0;
  readonly #stores = new Map<string, FakeStore>();

  store(resource: string): FakeStore {
    let store = this.#stores.get(resource);
    if (store === undefined) {
      store = new FakeStore(resource, this);
      this.#stores.set(resource, store);
    }
    return store;
  }

  async resourceVersion(): Promise<string> {
    return String(this.#revision);
  }

  nextRevision(): number {
    return ++this.#revision;
  }

  put(resource: string, object: KubeObject): KubeObject {
    const uid = object.metadata.uid ?? `00000000-0000-4000-8000-${String(++this.#uids).padStart(12, "0")}`;
    return this.store(resource).put({ ...object, metadata: { ...object.metadata, uid } });
  }

  remove(resource: string, namespace: string | undefined, name: string): void {
    this.store(resource).remove(namespace, name);
  }

  /** Releases the delayed events. */
  releaseEvents(): void {
    this.holdEvents = false;
    for (const store of this.#stores.values()) store.release();
  }
}

class FakeStore implements ResourceStore {
  readonly objects = new Map<string, KubeObject>();
  readonly #watchers = new Set<AsyncQueue<WatchEvent>>();
  readonly #held: WatchEvent[] = [];
  listCount = 0;

  constructor(
    readonly resource: string,
    readonly registry: FakeRegistry,
  ) {}

  get definition(): never {
    return assert.fail("not needed by auth");
  }

  get keys(): never {
    return assert.fail("not needed by auth");
  }

  put(object: KubeObject): KubeObject {
    const resourceVersion = String(this.registry.nextRevision());
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion } };
    const key = keyOf(stored.metadata.namespace, stored.metadata.name);
    const type = this.objects.has(key) ? "MODIFIED" : "ADDED";
    this.objects.set(key, stored);
    this.#send({ type, object: stored });
    return stored;
  }

  remove(namespace: string | undefined, name: string): void {
    const object = this.objects.get(keyOf(namespace, name));
    if (object === undefined) return;
    this.objects.delete(keyOf(namespace, name));
    const resourceVersion = String(this.registry.nextRevision());
    this.#send({ type: "DELETED", object: { ...object, metadata: { ...object.metadata, resourceVersion } } });
  }

  #send(event: WatchEvent): void {
    if (this.registry.holdEvents) this.#held.push(event);
    else for (const watcher of this.#watchers) watcher.push(event);
  }

  release(): void {
    for (const event of this.#held.splice(0)) this.#send(event);
  }

  /** Ends every watch, like a broken connection to the storage. */
  breakWatches(): void {
    for (const watcher of this.#watchers) watcher.close();
  }

  get watchCount(): number {
    return this.#watchers.size;
  }

  async get(namespace: string | undefined, name: string): Promise<KubeObject> {
    const object = this.objects.get(keyOf(namespace, name));
    if (object === undefined) throw notFound({ group: "", resource: this.resource }, name);
    return object;
  }

  async list(): Promise<KubeList> {
    this.listCount++;
    const items = [...this.objects.values()];
    return {
      apiVersion: "v1",
      kind: "List",
      metadata: { resourceVersion: await this.registry.resourceVersion() },
      items,
    };
  }

  async *watch(
    _namespace: string | undefined,
    { resourceVersion = "0" }: WatchOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent> {
    const queue = new AsyncQueue<WatchEvent>();
    this.#watchers.add(queue);
    try {
      for await (const event of queue.iterate(signal)) {
        if (Number(event.object.metadata.resourceVersion) > Number(resourceVersion)) yield event;
      }
    } finally {
      this.#watchers.delete(queue);
    }
  }

  create(): never {
    return assert.fail("auth only reads");
  }
  update(): never {
    return assert.fail("auth only reads");
  }
  delete(): never {
    return assert.fail("auth only reads");
  }
  deleteCollection(): never {
    return assert.fail("auth only reads");
  }
}

function keyOf(namespace: string | undefined, name: string | undefined): string {
  return `${namespace ?? ""}/${name}`;
}
