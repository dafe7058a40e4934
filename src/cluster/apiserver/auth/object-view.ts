import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import type { Clock } from "../../../util/clock.js";
import { isAbortError } from "../../../util/errors.js";
import type { Registry } from "../registry/rest/registry.js";

/** Called for every change of the view: a new object has an undefined `previous`, a deleted one an undefined `next`. */
export type ViewListener = (previous: KubeObject | undefined, next: KubeObject | undefined) => void;

export interface ObjectViewDeps {
  readonly registry: () => Registry;
  readonly clock: Clock;
}

/** Delay between a broken watch and the next list. */
const RELIST_DELAY_MS = 1_000;

/**
 * A read-only copy of all objects of one resource, fed by list and watch, on which the authorizers base their decisions.
 *
 * Mirrors an informer with its indexer. Differs: `catchUp` closes the gap between a write and its watch event, so that
 * stale data never causes a refusal.
 */
export class ObjectView {
  readonly #objects = new Map<string, KubeObject>();
  readonly #listener: ViewListener;
  /** the view contains a list of this revision; events up to it are repeats */
  #listedRevision = 0;
  #relisting: Promise<string> | undefined;
  #isFollowing = false;

  constructor(
    readonly resource: string,
    readonly deps: ObjectViewDeps,
    listener: ViewListener,
  ) {
    this.#listener = listener;
  }

  /** @param namespace undefined for cluster scope */
  get(namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#objects.get(viewKey(namespace, name));
  }

  objects(): IterableIterator<KubeObject> {
    return this.#objects.values();
  }

  /** Follows the store until `signal` aborts (normal end). */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // After a refused or broken watch, list again as reflectors do; any other error is a bug.
      await this.#listAndWatch(signal).catch((error: unknown) => {
        if (!isAbortError(error) && !(error instanceof StatusError)) throw error;
      });
      if (signal.aborted) return;
      await this.deps.clock.sleep(RELIST_DELAY_MS, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
  }

  /** False before the first list and while a broken watch waits for the next one. */
  get isFollowing(): boolean {
    return this.#isFollowing;
  }

  async #listAndWatch(signal: AbortSignal): Promise<void> {
    const resourceVersion = await this.#relistOnce();
    const store = this.deps.registry().store(this.resource);
    this.#isFollowing = true;
    try {
      for await (const event of store.watch(undefined, { resourceVersion }, signal)) {
        if (event.type === "ERROR") return; // history too short
        if (event.type !== "BOOKMARK") this.#apply(event.type === "DELETED", event.object);
      }
    } finally {
      this.#isFollowing = false;
    }
  }

  /** Resolves when the view contains every write that finished before the call. */
  async catchUp(): Promise<void> {
    const revision = Number(await this.deps.registry().resourceVersion());
    if (revision <= this.#listedRevision) return;
    // Refusals come in bursts (a client that probes its rights), so they share the list in progress.
    await this.#relistOnce();
    if (revision > this.#listedRevision) await this.#relist();
  }

  #relistOnce(): Promise<string> {
    this.#relisting ??= this.#relist().finally(() => {
      this.#relisting = undefined;
    });
    return this.#relisting;
  }

  async #relist(): Promise<string> {
    const list = await this.deps.registry().store(this.resource).list(undefined);
    const resourceVersion = list.metadata.resourceVersion ?? "0";
    if (Number(resourceVersion) < this.#listedRevision) return resourceVersion; // overtaken by a newer list
    this.#listedRevision = Number(resourceVersion);
    const listed = new Set<string>();
    for (const object of list.items) {
      const key = keyOf(object);
      listed.add(key);
      this.#put(key, object);
    }
    for (const key of [...this.#objects.keys()]) if (!listed.has(key)) this.#drop(key);
    return resourceVersion;
  }

  #apply(isDeletion: boolean, object: KubeObject): void {
    if (revisionOf(object) <= this.#listedRevision) return;
    if (isDeletion) this.#drop(keyOf(object));
    else this.#put(keyOf(object), object);
  }

  #put(key: string, object: KubeObject): void {
    const previous = this.#objects.get(key);
    if (previous !== undefined && revisionOf(previous) === revisionOf(object)) return;
    this.#objects.set(key, object);
    this.#listener(previous, object);
  }

  #drop(key: string): void {
    const previous = this.#objects.get(key);
    if (previous === undefined) return;
    this.#objects.delete(key);
    this.#listener(previous, undefined);
  }
}

function viewKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ""}/${name}`;
}

function keyOf(object: KubeObject): string {
  return viewKey(object.metadata.namespace, object.metadata.name ?? "");
}

function revisionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion ?? 0);
}
