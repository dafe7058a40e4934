import { setMaxListeners } from "node:events";
import { ChildAbort, onAbort } from "../../../util/abort.js";
import { EventHistory } from "../history.js";
import { CompactedError, type OnPublished, type StorageEvent, type WatchBacklog } from "../storage.js";
import { resourcePrefixOf, type Subscription, WatchHub } from "../watch-hub.js";
import { type WatcherDeps, watchPrefix } from "./watcher.js";

/** What a watch that resumes finds here without asking etcd. Mirrors defaultLowerBoundCapacity and eventFreshDuration. */
const WINDOW = { watchableCount: 100, watchableMs: 75_000, maxCount: 10_000, maxBytes: 8 * 1024 * 1024 };

/**
 * One watch of etcd per resource, whose changes go to all readers. It starts with the first reader, and stays.
 *
 * Mirrors k8s.io/apiserver/pkg/storage/cacher/cacher.go (Watch, dispatchEvents). Differs: a reader of changes older than the
 * window gets a watch of etcd for itself, where upstream answers 410.
 */
export class WatchFeeds {
  readonly #hub: WatchHub;
  readonly #histories = new Map<string, EventHistory>();
  readonly #running = new Set<Promise<void>>();
  readonly #closed = new AbortController();

  constructor(
    readonly deps: WatcherDeps,
    readonly newestRevision: () => number,
    backlog: WatchBacklog,
    onPublished?: OnPublished,
  ) {
    // Every watch listens to this signal, and their number has no limit.
    setMaxListeners(0, this.#closed.signal);
    this.#hub = new WatchHub(backlog, onPublished);
  }

  /** The number of open watches, without those that read the past from etcd. */
  get watcherCount(): number {
    return this.#hub.size;
  }

  async *watch(prefix: string, afterRevision: number, signal: AbortSignal): AsyncGenerator<StorageEvent> {
    if (signal.aborted || this.#closed.signal.aborted) return;
    const missed = this.#missed(prefix, afterRevision);
    if (missed === undefined) return yield* this.#fromEtcd(prefix, afterRevision, signal);
    // No await between reading the history and joining the hub, so that no change is missed.
    const news = this.#hub.subscribe(prefix);
    try {
      for (const event of missed) {
        if (signal.aborted) return;
        if (event.key.startsWith(prefix)) yield event;
      }
      yield* newer(news, afterRevision, signal);
    } finally {
      news.leave();
    }
  }

  /** The changes in the window after the revision; undefined when it begins later, or when the revision is yet to come. */
  #missed(prefix: string, afterRevision: number): readonly StorageEvent[] | undefined {
    const resourcePrefix = resourcePrefixOf(prefix);
    if (resourcePrefix === "") return undefined;
    if (!this.#histories.has(resourcePrefix) && afterRevision > this.newestRevision()) return undefined;
    const history = this.#histories.get(resourcePrefix) ?? this.#start(resourcePrefix, afterRevision);
    try {
      return history.since(afterRevision);
    } catch (error) {
      if (error instanceof CompactedError) return undefined;
      throw error;
    }
  }

  #start(resourcePrefix: string, afterRevision: number): EventHistory {
    const history = new EventHistory(WINDOW);
    history.forgetThrough(afterRevision);
    this.#histories.set(resourcePrefix, history);
    const running = this.#feed(resourcePrefix, history, afterRevision).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return history;
  }

  /** Once etcd no longer has the changes, all readers must list again; the next one starts the feed anew. */
  async #feed(resourcePrefix: string, history: EventHistory, afterRevision: number): Promise<void> {
    const { clock } = this.deps.client;
    try {
      for await (const { events } of watchPrefix(this.deps, resourcePrefix, afterRevision, this.#closed.signal)) {
        const atMs = clock.now();
        for (const event of events) {
          const record = { ...event, previousEntry: undefined, atMs };
          history.append(record, event.revision);
          this.#hub.publish(record);
        }
      }
    } catch (error) {
      this.#histories.delete(resourcePrefix);
      this.#hub.fail(resourcePrefix, error);
    }
  }

  async *#fromEtcd(prefix: string, afterRevision: number, signal: AbortSignal): AsyncGenerator<StorageEvent> {
    using stop = new ChildAbort(this.#closed.signal);
    using _ = onAbort(signal, () => stop.abort());
    for await (const { events } of watchPrefix(this.deps, prefix, afterRevision, stop.signal)) yield* events;
  }

  /** Ends all watches. */
  async close(): Promise<void> {
    this.#closed.abort();
    this.#hub.close();
    await Promise.all(this.#running);
  }
}

async function* newer({ queue }: Subscription, afterRevision: number, signal: AbortSignal) {
  for await (const event of queue.iterate(signal)) if (event.revision > afterRevision) yield event;
}
