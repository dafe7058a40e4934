import { setMaxListeners } from "node:events";
import type { KubeObject } from "../../apimachinery/api/meta.js";
import { type ReflectDeps, ReflectorBackoff, reflect } from "../../client-go/cache/reflect.js";
import { collectionPath } from "../../client-go/rest/paths.js";
import type { Trace } from "../../trace/trace.js";
import { isOwnBug, messageOf } from "../../util/errors.js";
import { Waker } from "../../util/waker.js";

const REFLECTOR = { file: "pkg/kubelet/util/manager/watch_based_manager.go", func: "startReflector" };
const WATCH_HANDLER = { file: "staging/src/k8s.io/client-go/tools/cache/reflector.go", func: "watchHandler" };

export interface ObjectCacheItemDeps extends ReflectDeps {
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
 * Mirrors objectCacheItem in pkg/kubelet/util/manager/watch_based_manager.go, with the reflector and the store that it holds.
 * Differs: who waits for the first list is woken by it, where upstream looks every 10 ms.
 */
export class ObjectCacheItem {
  /** pods that name the object */
  refCount = 0;
  /** Unix ms; 0: nobody has asked for it yet */
  lastAccessMs = 0;
  /** undefined: the watch is stopped */
  #watching: AbortController | undefined;
  #ended: Promise<void> = Promise.resolve();
  #object: KubeObject | undefined;
  #hasSynced = false;
  #isImmutable = false;
  readonly #awaitingSync = new Set<Waker>();
  #told: string | undefined;

  constructor(
    readonly deps: ObjectCacheItemDeps,
    readonly ref: ObjectRef,
  ) {
    this.startIfNeeded();
  }

  /** As it was last seen; undefined: it is not there. Means nothing before it was listed. */
  get object(): KubeObject | undefined {
    return this.#object;
  }

  /** Has it been listed since it is watched? What was read stays while the API server is away. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get isWatched(): boolean {
    return this.#watching !== undefined;
  }

  /** Mirrors restartReflectorIfNeeded. What is immutable needs no watch any more. */
  startIfNeeded(): void {
    if (this.#watching !== undefined || this.#isImmutable) return;
    const stop = new AbortController();
    const previous = this.#ended;
    this.#watching = stop;
    this.#ended = this.deps.trace.detached(async () => {
      // Never two at once.
      await previous;
      await this.#follow(stop.signal);
    });
  }

  /** Ends the watch, if there is one. What may change meanwhile has to be listed again before it is good for anything. */
  async stop(): Promise<void> {
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
    // A volume may show many objects, which are all waited for at once.
    setMaxListeners(0, signal);
    try {
      await waker.wait(clock, clock.now() + ms, signal);
    } finally {
      this.#awaitingSync.delete(waker);
    }
    return this.#hasSynced;
  }

  /** Never rejects: nobody waits for it but the next one, and who closes it. */
  async #follow(signal: AbortSignal): Promise<void> {
    const backoff = new ReflectorBackoff(this.deps);
    this.#tellOfWatch("started");
    while (!signal.aborted) {
      try {
        await this.#reflect(signal);
      } catch (error) {
        if (signal.aborted) break;
        this.#failed(error);
        if (isOwnBug(error)) {
          // The next one who asks for the object begins anew.
          this.#watching = undefined;
          this.#hasSynced = false;
          break;
        }
        // Only an abort ends it early.
        await backoff.wait(signal).catch(() => undefined);
      }
    }
    this.#tellOfWatch("stopped");
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
      } else if (!isListing) this.#set(event.type === "deleted" ? undefined : event.object);
    }
  }

  #replace(object: KubeObject | undefined): void {
    // The first list is no change.
    if (this.#hasSynced) this.#set(object);
    this.#object = object;
    this.#hasSynced = true;
    for (const waker of this.#awaitingSync) waker.wake();
  }

  /** That an object has changed is news, and shown; that it is watched goes without saying. */
  #set(object: KubeObject | undefined): void {
    const from = versionOf(this.#object);
    const to = versionOf(object);
    this.#object = object;
    if (from === to) return;
    const fact = { kind: "state", subject: this.#subject, what: "version", from, to, upstream: WATCH_HANDLER } as const;
    this.deps.trace.emit(fact, { actor: "kubelet" });
  }

  #tellOfWatch(to: "started" | "stopped"): void {
    const fact = { kind: "state", subject: this.#subject, what: "watch", to, upstream: REFLECTOR } as const;
    this.deps.trace.emit(fact, { actor: "kubelet", level: 2 });
  }

  get #subject(): string {
    const { kind, namespace, name } = this.ref;
    return `${kind} ${namespace}/${name}`;
  }

  /** Once, and not at each attempt: a right may be missing for long. */
  #failed(error: unknown): void {
    const stack = isOwnBug(error) && error instanceof Error ? error.stack : undefined;
    const message = stack ?? messageOf(error);
    if (message === this.#told) return;
    this.#told = message;
    const hint = `It is asked for again, at the latest in a minute. Pods that name the ${this.#subject} get what was read before, if anything was.`;
    this.deps.trace.emit({ kind: "error", message, hint }, { actor: "kubelet" });
  }
}

function versionOf(object: KubeObject | undefined): string {
  return object === undefined ? "none" : (object.metadata.resourceVersion ?? "");
}

/** Mirrors EscapeValue in k8s.io/apimachinery/pkg/fields/selector.go: a name from a manifest may hold anything. */
function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, "\\$&");
}
