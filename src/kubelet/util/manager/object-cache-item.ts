import { setMaxListeners } from "node:events";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { escapeFieldValue } from "../../../staging/apimachinery/field-selector.js";
import { ReflectorBackoff, reflect } from "../../../staging/client-go/cache/reflect.js";
import type { ClientCtx } from "../../../staging/client-go/rest/client.js";
import { collectionPath } from "../../../staging/client-go/rest/paths.js";
import type { Trace } from "../../../trace/trace.js";
import { Waker } from "../../../util/async/waker.js";
import { defined } from "../../../util/defined.js";
import { isOwnBug } from "../../../util/errors.js";
import { ObjectObserver } from "./object-observer.js";

export interface ObjectCacheItemDeps extends ClientCtx {
  readonly trace: Trace;
}

/** One ConfigMap or Secret. */
export interface ObjectRef {
  readonly kind: "configmap" | "secret";
  readonly namespace: string;
  readonly name: string;
}

/**
 * One object and the list and watch that keep it up to date.
 *
 * Mirrors objectCacheItem in pkg/kubelet/util/manager/watch_based_manager.go, with its reflector and store.
 * Differs: the first list wakes its waiters, where upstream polls every 10 ms.
 */
export class ObjectCacheItem {
  readonly observer: ObjectObserver;
  /** number of pods that reference the object */
  refCount = 0;
  /** Unix ms of the last read; 0: never read */
  lastAccessMs = 0;
  /** undefined: the watch is stopped */
  #watching: AbortController | undefined;
  #ended: Promise<void> = Promise.resolve();
  /** why the watch was stopped */
  #stoppedBy: { readonly causedBy?: string } = {};
  #object: KubeObject | undefined;
  #hasSynced = false;
  #isImmutable = false;
  readonly #awaitingSync = new Set<Waker>();

  constructor(
    readonly deps: ObjectCacheItemDeps,
    readonly ref: ObjectRef,
  ) {
    this.observer = new ObjectObserver(deps.trace, `${ref.kind} ${ref.namespace}/${ref.name}`);
    this.startIfNeeded();
  }

  /** The last known object; undefined: it does not exist. Meaningless before the first list. */
  get object(): KubeObject | undefined {
    return this.#object;
  }

  /** Reports whether it was listed since the watch started. The last object stays while the API server is away. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get isWatched(): boolean {
    return this.#watching !== undefined;
  }

  /** Mirrors restartReflectorIfNeeded. An immutable object needs no watch any more. */
  startIfNeeded(): void {
    if (this.#watching !== undefined || this.#isImmutable) return;
    const stop = new AbortController();
    const previous = this.#ended;
    this.#watching = stop;
    const { trace } = this.deps;
    const cause = defined({ causedBy: trace.cause });
    const follow = async () => {
      // Never two watches at once.
      await previous;
      await this.#follow(stop.signal);
    };
    this.#ended = trace.detached(() => trace.because(cause, follow));
  }

  /** Ends the watch, if there is one. The object must then be listed again, because it may change meanwhile. */
  async stop(): Promise<void> {
    this.#stoppedBy = defined({ causedBy: this.deps.trace.cause });
    this.#watching?.abort();
    this.#watching = undefined;
    if (!this.#isImmutable) this.#hasSynced = false;
    await this.#ended;
  }

  setImmutable(): void {
    this.#isImmutable = true;
  }

  /** @returns whether it was listed in time, ms on the clock. @throws the signal's reason */
  async waitForSync(ms: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (this.#hasSynced) return true;
    const { clock } = this.deps;
    const waker = new Waker();
    this.#awaitingSync.add(waker);
    // A volume may wait for many objects at once.
    setMaxListeners(0, signal);
    try {
      await waker.wait(clock, clock.now() + ms, signal);
    } finally {
      this.#awaitingSync.delete(waker);
    }
    return this.#hasSynced;
  }

  /** Never rejects: only the next watch and close() wait for it. */
  async #follow(signal: AbortSignal): Promise<void> {
    const backoff = new ReflectorBackoff(this.deps);
    this.observer.watch("started");
    while (!signal.aborted) {
      try {
        await this.#reflect(signal);
      } catch (error) {
        if (signal.aborted) break;
        this.observer.failed(error);
        if (isOwnBug(error)) {
          // The next read starts a new watch.
          this.#watching = undefined;
          this.#hasSynced = false;
          break;
        }
        // Only an abort ends it early.
        await backoff.wait(signal).catch(() => undefined);
      }
    }
    this.deps.trace.because(this.#stoppedBy, () => this.observer.watch("stopped"));
  }

  async #reflect(signal: AbortSignal): Promise<void> {
    const { kind, namespace, name } = this.ref;
    const path = collectionPath({ apiVersion: "v1", resource: `${kind}s`, namespace });
    const fieldSelector = `metadata.name=${escapeFieldValue(name)}`;
    let isListing = false;
    for await (const event of reflect(this.deps, { path, fieldSelector }, signal)) {
      if (signal.aborted) return;
      if (event.type === "init") isListing = true;
      else if (event.type === "initDone") {
        isListing = false;
        this.#replace(event.objects.find(({ metadata }) => metadata.name === name));
      } else if (!isListing) {
        const object = event.type === "deleted" ? undefined : event.object;
        this.deps.trace.because(event, () => this.#set(object));
      }
    }
  }

  #replace(object: KubeObject | undefined): void {
    // The first list is not a change.
    if (this.#hasSynced) this.#set(object);
    this.#object = object;
    this.#hasSynced = true;
    for (const waker of this.#awaitingSync) waker.wake();
  }

  /** Reports changes of the object at a lower -v than its routine watch. */
  #set(object: KubeObject | undefined): void {
    const from = versionOf(this.#object);
    const to = versionOf(object);
    this.#object = object;
    if (from === to) return;
    this.observer.version(from, to);
  }
}

function versionOf(object: KubeObject | undefined): string {
  return object === undefined ? "none" : (object.metadata.resourceVersion ?? "");
}
