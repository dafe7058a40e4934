import { AsyncQueue } from "../../../util/async/async-queue.js";
import {
  type OnPublished,
  SlowWatcherError,
  type StorageEvent,
  type StorageProgress,
  type WatchBacklog,
} from "./storage.js";

interface Subscriber {
  readonly prefix: string;
  readonly queue: AsyncQueue<StorageEvent | StorageProgress>;
}

export interface Subscription {
  readonly queue: AsyncQueue<StorageEvent | StorageProgress>;
  leave(): void;
}

/**
 * Hands each change to the watchers of its resource. They share one object, so a change costs each watcher a queue entry.
 * Slow watchers are disconnected once their backlog is full, so that their unread events cannot fill the memory.
 *
 * Mirrors k8s.io/apiserver/pkg/storage/cacher/cacher.go (dispatchEvent) and cache_watcher.go (add).
 */
export class WatchHub {
  readonly #byResource = new Map<string, Set<Subscriber>>();
  #isClosed = false;

  constructor(
    readonly backlog: WatchBacklog,
    readonly onPublished: OnPublished = () => {},
  ) {}

  /** The number of open watches. */
  get size(): number {
    let size = 0;
    for (const group of this.#byResource.values()) size += group.size;
    return size;
  }

  publish(event: StorageEvent): void {
    const watches = this.#publishTo(resourcePrefixOf(event.key), event) + this.#publishTo("", event);
    this.onPublished(event, watches);
  }

  /** Sends the revision to the watches of a resource; one with unread events does not need it. */
  progress(resourcePrefix: string, revision: number): void {
    for (const { queue } of this.#byResource.get(resourcePrefix) ?? []) queue.push({ type: "progress", revision }, 0);
  }

  /** @returns the number of watches that have it in their queue */
  #publishTo(resourcePrefix: string, event: StorageEvent): number {
    const group = this.#byResource.get(resourcePrefix);
    if (group === undefined) return 0;
    let watches = 0;
    for (const subscriber of group) {
      if (!event.key.startsWith(subscriber.prefix)) continue;
      if (subscriber.queue.push(event, event.bytes)) {
        watches++;
        continue;
      }
      group.delete(subscriber);
      subscriber.queue.fail(new SlowWatcherError("the watcher has too many unread changes"));
    }
    return watches;
  }

  /** Queues every change from now on, however late the queue is read, until the reader calls `leave`. */
  subscribe(prefix: string): Subscription {
    const { changes, bytes } = this.backlog;
    const subscriber = { prefix, queue: new AsyncQueue<StorageEvent | StorageProgress>(changes, bytes) };
    if (this.#isClosed) subscriber.queue.close();
    const resourcePrefix = resourcePrefixOf(prefix);
    const group = this.#byResource.get(resourcePrefix) ?? new Set();
    this.#byResource.set(resourcePrefix, group);
    group.add(subscriber);
    return { queue: subscriber.queue, leave: () => group.delete(subscriber) };
  }

  /** Ends the watches of a resource. */
  fail(resourcePrefix: string, error: unknown): void {
    const group = this.#byResource.get(resourcePrefix) ?? [];
    for (const { queue } of group) queue.fail(error);
    this.#byResource.delete(resourcePrefix);
  }

  /** Ends all watches. @param error absent: a normal end */
  close(error?: Error): void {
    this.#isClosed = true;
    for (const group of this.#byResource.values()) {
      for (const { queue } of group) {
        if (error === undefined) queue.close();
        else queue.fail(error);
      }
      group.clear();
    }
  }
}

/** Leaves out the progress. */
export async function* changesOnly(
  events: AsyncIterable<StorageEvent | StorageProgress>,
): AsyncGenerator<StorageEvent> {
  for await (const event of events) if (event.type !== "progress") yield event;
}

/** `/registry/pods/` for each key and prefix that begins with it; "" for a shorter prefix, which spans resources. */
export function resourcePrefixOf(key: string): string {
  const resourceStart = key.indexOf("/", 1);
  if (resourceStart < 0) return "";
  const resourceEnd = key.indexOf("/", resourceStart + 1);
  return resourceEnd < 0 ? "" : key.slice(0, resourceEnd + 1);
}
