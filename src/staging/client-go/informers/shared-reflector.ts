import type { Actor } from "../../../trace/events.js";
import { versionOf } from "../../../trace/scope.js";
import type { Cause, Trace } from "../../../trace/trace.js";
import { orAborted } from "../../../util/async/concurrency.js";
import type { KubeObject } from "../../apimachinery/api/meta.js";
import { keyOf } from "../../apimachinery/api/object-key.js";
import { manyListeners } from "../../apimachinery/wait.js";
import { Indexer, type IndexFunc } from "../cache/indexer.js";
import type { LocalClient, WatchItem } from "../dynamic/interface.js";
import { reportWatchEvent } from "../rest/watch-report.js";
import { Reader } from "./reader.js";

/** A reader whose backlog exceeds this is disconnected and starts again from the cache. */
const READER_CAPACITY = 10_000;

export interface ChangesOptions {
  /** Leaves out existing objects, for a reader that takes them from `list()`. */
  readonly onlyNew?: boolean;
  /** the component of the reader, for the trace; default: controller */
  readonly receiver?: Actor;
}

/**
 * One list and watch of a resource for all its controllers, with a cache of the current objects.
 *
 * Mirrors k8s.io/client-go/tools/cache (SharedIndexInformer). The cache is up to date before a reader sees a change.
 * Differs: readers pull (`for await`) instead of registering handlers; a list after a broken watch reaches them as
 * `applied` and `deleted`, so that they see `init` once.
 */
export class SharedReflector<T extends KubeObject = KubeObject> {
  readonly #objects = new Indexer<T>();
  /** key -> the watch event that brought the object, for controllers that start later; only if the trace keeps causes */
  readonly #causes = new Map<string, Cause>();
  readonly #readers = new Map<Reader<WatchItem<T>>, Actor>();
  readonly #awaitingFirstList = new Set<() => void>();
  #isSynced = false;
  #failure: { readonly error: unknown } | undefined;
  /** keys seen by the current list; undefined between lists */
  #listed: Set<string> | undefined;

  /** @param resource `pods`, `leases.coordination.k8s.io` */
  constructor(
    readonly trace: Trace,
    readonly resource: string,
  ) {}

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#objects.get(namespace === undefined ? name : `${namespace}/${name}`);
  }

  byKey(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** A snapshot: it does not change while the caller uses it. */
  list(): readonly T[] {
    return this.#objects.list();
  }

  /** A snapshot of the objects for which the function gives the value. The function must be a constant: it names the index. */
  byIndex(indexFunc: IndexFunc<T>, value: string): readonly T[] {
    return this.#objects.byIndex(indexFunc, value);
  }

  /** Yields the existing objects (`init`, then `initDone`), then every later change. Ends when `signal` aborts. */
  changes(signal: AbortSignal, options: ChangesOptions = {}): AsyncIterableIterator<WatchItem<T>> {
    const reader: Reader<WatchItem<T>> = new Reader(READER_CAPACITY + this.#objects.size, signal, () => {
      this.#readers.delete(reader);
    });
    if (options.onlyNew !== true) {
      for (const [key, object] of this.#objects.entries())
        reader.push({ type: "init", object, ...this.#causes.get(key) });
      if (this.#isSynced) reader.push({ type: "initDone" });
    }
    if (this.#failure !== undefined) reader.fail(this.#failure.error);
    else if (!signal.aborted) this.#readers.set(reader, options.receiver ?? "controller");
    return reader;
  }

  /** Waits for the first list. @throws the signal's reason, or the error of the list */
  async synced(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#isSynced && this.#failure === undefined) await this.#firstList(signal);
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #firstList(signal: AbortSignal): Promise<void> {
    let wake = () => {};
    const listed = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#awaitingFirstList.add(wake);
    try {
      await orAborted(listed, signal);
    } finally {
      this.#awaitingFirstList.delete(wake);
    }
  }

  /** Feeds the cache until `signal` aborts. @throws the error of `client.reflect`, after all readers got it */
  async run(client: LocalClient, signal: AbortSignal): Promise<void> {
    try {
      for await (const item of client.reflect<T>(this.resource, signal)) this.#take(item);
    } catch (error) {
      this.#end(error);
      throw error;
    }
    this.#end(signal.reason);
  }

  #end(error: unknown): void {
    this.#failure = { error };
    for (const reader of [...this.#readers.keys()]) reader.fail(error);
    this.#wakeWaiting();
  }

  #wakeWaiting(): void {
    for (const wake of this.#awaitingFirstList) wake();
    this.#awaitingFirstList.clear();
  }

  #take(item: WatchItem<T>): void {
    switch (item.type) {
      case "init":
        this.#listed ??= new Set();
        this.#listed.add(keyOf(item.object));
        this.#apply(item.object, this.#isSynced ? "applied" : "init");
        break;
      case "initDone":
        this.#endOfList();
        break;
      case "applied":
        this.#apply(item.object, "applied");
        break;
      case "deleted":
        this.#remove(keyOf(item.object), item.object);
        break;
    }
  }

  #apply(object: T, type: "init" | "applied"): void {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    if (previous !== undefined && previous.metadata.resourceVersion === object.metadata.resourceVersion) return;
    // The same name with another uid: the watch missed a deletion. Owners and queues need that event.
    if (previous !== undefined && previous.metadata.uid !== object.metadata.uid) this.#remove(key, previous);
    this.#objects.set(key, object);
    const known = previous?.metadata.uid === object.metadata.uid ? previous : undefined;
    this.#send(type === "init" ? { type, object } : { type, object, previous: known });
  }

  #remove(key: string, last: T): void {
    if (!this.#objects.delete(key)) return;
    this.#causes.delete(key);
    this.#send({ type: "deleted", object: last });
  }

  #endOfList(): void {
    const listed = this.#listed ?? new Set();
    if (!this.#isSynced) {
      this.#listed = undefined;
      this.#isSynced = true;
      this.#send({ type: "initDone" });
      this.#wakeWaiting();
      return;
    }
    for (const [key, object] of [...this.#objects.entries()]) if (!listed.has(key)) this.#remove(key, object);
    this.#listed = undefined;
  }

  #send(item: WatchItem<T>): void {
    // A component learns of a change once, however many of its controllers read it.
    const learned = this.trace.wantsCauses ? new Map<Actor, WatchItem<T>>() : undefined;
    for (const [reader, receiver] of this.#readers) {
      let one = learned === undefined ? item : learned.get(receiver);
      if (one === undefined) {
        one = this.#withCause(item, receiver);
        learned?.set(receiver, one);
      }
      if (!reader.push(one)) reader.fail(new Error(`a controller fell ${READER_CAPACITY} changes behind`));
    }
  }

  #withCause(item: WatchItem<T>, actor: Actor): WatchItem<T> {
    if (item.type === "init" || item.type === "initDone") return item;
    const { object } = item;
    // A list after a broken watch shows what changed, but not when and, for a deleted object, by which version.
    if (this.#listed !== undefined) return item.type === "deleted" ? item : { ...item, causedBy: versionOf(object) };
    const type = item.type === "deleted" ? "DELETED" : item.previous === undefined ? "ADDED" : "MODIFIED";
    const resource = this.resource.split(".", 1)[0] ?? "";
    const cause = reportWatchEvent(this.trace, { type, resource, object }, { actor });
    if (actor === "controller" && item.type === "applied") this.#causes.set(keyOf(object), cause);
    return { ...item, ...cause };
  }
}

/** The shared reflectors of one control plane. Each starts when the first controller needs it. */
export class SharedReflectors {
  readonly #client: LocalClient;
  readonly #stop = new AbortController();
  readonly #byResource = new Map<string, SharedReflector>();
  readonly #running = new Set<Promise<void>>();

  constructor(
    client: LocalClient,
    readonly trace: Trace,
  ) {
    this.#client = client;
    manyListeners(this.#stop.signal);
  }

  /** @param resource `pods`, `leases.coordination.k8s.io`. A broken reflector is replaced by a new one. */
  of<T extends KubeObject = KubeObject>(resource: string): SharedReflector<T> {
    const known = this.#byResource.get(resource);
    // All objects of one resource have one type, which the map's type cannot express.
    if (known !== undefined) return known as unknown as SharedReflector<T>;
    const reflector = new SharedReflector<T>(this.trace, resource);
    this.#byResource.set(resource, reflector as unknown as SharedReflector);
    const running: Promise<void> = reflector
      .run(this.#client, this.#stop.signal)
      // The readers already have the error: each reports it and requests a new reflector.
      .catch(() => undefined)
      .finally(() => {
        this.#byResource.delete(resource);
        this.#running.delete(running);
      });
    this.#running.add(running);
    return reflector;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }
}

/** A client whose `reflect` reads the shared reflector instead of starting another watch. */
export function sharingReflectors(client: LocalClient, reflectors: SharedReflectors): LocalClient {
  return {
    ...client,
    reflect: <T extends KubeObject>(resource: string, signal: AbortSignal) =>
      reflectors.of<T>(resource).changes(signal),
  };
}
