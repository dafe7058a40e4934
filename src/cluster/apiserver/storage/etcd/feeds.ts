import { setMaxListeners } from "node:events";
import { ChildAbort, onAbort } from "../../../../util/async/abort.js";
import type { CompactedError, OnPublished, StorageEvent, StorageProgress, WatchBacklog } from "../storage.js";
import { resourcePrefixOf, WatchHub } from "../watch-hub.js";
import { prefixRange } from "./ranges.js";
import { revisionOf } from "./requests.js";
import { WatchCache } from "./watch-cache.js";
import { changeWithPrevious, type WatcherDeps, watchPrefix } from "./watcher.js";

type WatchItem = StorageEvent | StorageProgress;

/**
 * One watch of etcd per resource, which keeps a cache of the resource and brings its changes to all readers. It starts with the
 * first reader, and stays.
 *
 * Mirrors k8s.io/apiserver/pkg/storage/cacher/cacher.go (Watch, startCaching, dispatchEvents). Differs: a reader of changes older
 * than the window gets them from etcd, where upstream answers 410.
 */
export class WatchFeeds {
  readonly #hub: WatchHub;
  readonly #starting = new Map<string, Promise<WatchCache>>();
  readonly #caches = new Map<string, WatchCache>();
  readonly #running = new Set<Promise<void>>();
  readonly #closed = new AbortController();
  #end: CompactedError | undefined;

  constructor(
    readonly deps: WatcherDeps,
    backlog: WatchBacklog,
    onPublished?: OnPublished,
  ) {
    // Every watch listens to this signal, and their number has no limit.
    setMaxListeners(0, this.#closed.signal);
    this.#hub = new WatchHub(backlog, onPublished);
  }

  /** The cache of a key's or a prefix's resource, if it is there. */
  running(key: string): WatchCache | undefined {
    return this.#caches.get(resourcePrefixOf(key));
  }

  /**
   * The cache of a key's or a prefix's resource; it is filled first.
   * @returns undefined for a prefix of several resources
   * @throws StatusError if etcd does not answer
   */
  async cache(key: string): Promise<WatchCache | undefined> {
    const resourcePrefix = resourcePrefixOf(key);
    const running = this.#caches.get(resourcePrefix);
    if (running !== undefined || resourcePrefix === "" || this.#closed.signal.aborted) return running;
    const starting = this.#starting.get(resourcePrefix) ?? this.#start(resourcePrefix);
    this.#starting.set(resourcePrefix, starting);
    return starting;
  }

  async #start(resourcePrefix: string): Promise<WatchCache> {
    const { requests, values } = this.deps;
    try {
      const response = await requests.range(prefixRange(resourcePrefix));
      await values.codec.prepare(response.kvs);
      const cache = new WatchCache(values, response.kvs, revisionOf(response));
      this.#caches.set(resourcePrefix, cache);
      const running = this.#feed(resourcePrefix, cache).finally(() => this.#running.delete(running));
      this.#running.add(running);
      return cache;
    } finally {
      this.#starting.delete(resourcePrefix);
    }
  }

  /** Once etcd has compacted the changes, all readers must list again; the next one restarts the feed. */
  async #feed(resourcePrefix: string, cache: WatchCache): Promise<void> {
    const { clock } = this.deps.requests.client;
    const start = { afterRevision: cache.revision, prevKv: false };
    try {
      for await (const batch of watchPrefix(this.deps, resourcePrefix, start, this.#closed.signal)) {
        const atMs = clock.now();
        for (const event of batch.events) {
          const change = cache.apply(event, atMs);
          if (change !== undefined) this.#hub.publish(change);
        }
        cache.reached(batch.revision);
        if (batch.events.length === 0) this.#hub.progress(resourcePrefix, batch.revision);
      }
    } catch (error) {
      this.#caches.delete(resourcePrefix);
      this.#hub.fail(resourcePrefix, error);
    }
  }

  async *watch(prefix: string, afterRevision: number, signal: AbortSignal): AsyncGenerator<WatchItem> {
    if (signal.aborted || this.#closed.signal.aborted) return;
    using stop = new ChildAbort(this.#closed.signal);
    using _ = onAbort(signal, () => stop.abort());
    await this.#started(prefix, stop.signal);
    for (let seen = afterRevision; !stop.signal.aborted; ) {
      const missed = this.running(prefix)?.since(seen);
      if (missed === undefined) {
        seen = yield* this.#fromEtcd(prefix, seen, stop.signal);
        continue;
      }
      // No await between reading the history and joining the hub, so that no change is missed.
      yield* this.#shared(prefix, seen, missed, stop.signal);
      break;
    }
    if (!signal.aborted && this.#end !== undefined) throw this.#end;
  }

  /** Waits for the cache as long as the reader does; without an answer of etcd the reader has a watch of its own. */
  async #started(prefix: string, signal: AbortSignal): Promise<void> {
    if (this.running(prefix) !== undefined) return;
    const starting = this.cache(prefix).catch(() => undefined);
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    using _ = onAbort(signal, stop);
    await Promise.race([starting, stopped]);
  }

  async *#shared(
    prefix: string,
    afterRevision: number,
    missed: readonly StorageEvent[],
    signal: AbortSignal,
  ): AsyncGenerator<WatchItem> {
    const { queue, leave } = this.#hub.subscribe(prefix);
    try {
      for (const event of missed) {
        if (signal.aborted) return;
        if (event.key.startsWith(prefix)) yield event;
      }
      for await (const event of queue.iterate(signal)) if (event.revision > afterRevision) yield event;
    } finally {
      leave();
    }
  }

  /** Older changes than the cache has. @returns the revision from which it has them */
  async *#fromEtcd(prefix: string, afterRevision: number, signal: AbortSignal): AsyncGenerator<WatchItem, number> {
    const { values } = this.deps;
    const start = { afterRevision, prevKv: true };
    for await (const { events, revision } of watchPrefix(this.deps, prefix, start, signal)) {
      yield* events.flatMap((event) => changeWithPrevious(values, event) ?? []);
      if (events.length === 0) yield { type: "progress", revision };
      if (this.running(prefix)?.since(revision) !== undefined) return revision;
    }
    return afterRevision;
  }

  /** Ends all watches. @param error absent: a normal end */
  async close(error?: CompactedError): Promise<void> {
    this.#end = error;
    this.#closed.abort();
    this.#hub.close(error);
    await Promise.all(this.#running);
  }
}
