import { EventHistory } from "../history.js";
import { withResourceVersion } from "../resource-version.js";
import { SortedKeys } from "../sorted-keys.js";
import { CompactedError, type ListResult, type StorageEvent } from "../storage.js";
import type { DecodedEntry, DecodedValues } from "./decoded-values.js";
import { type Event, EventType, type KeyValue, type RangeResponse } from "./messages.js";
import { revisionOf } from "./requests.js";

/** What a watch that resumes finds here without asking etcd. Mirrors defaultLowerBoundCapacity and eventFreshDuration. */
const WINDOW = { watchableCount: 100, watchableMs: 75_000, maxCount: 10_000, maxBytes: 8 * 1024 * 1024 };

/** A write of this server: the new entry, or undefined for a deletion. */
interface Written {
  readonly entry: DecodedEntry | undefined;
  readonly revision: number;
}

/**
 * The entries of one resource as its watch has brought them, and its newest changes.
 *
 * Mirrors k8s.io/apiserver/pkg/storage/cacher/watch_cache.go. Differs: a get also finds what this server wrote and the watch has
 * yet to bring, so that a writer reads its own writes.
 */
export class WatchCache {
  /** undefined: the value cannot be read */
  readonly #entries = new Map<string, DecodedEntry | undefined>();
  readonly #keys = new SortedKeys();
  readonly #history = new EventHistory(WINDOW);
  readonly #ahead = new Map<string, Written>();
  #writtenRevision = 0;
  #revision: number;

  /** @param kvs all of the resource at the revision; prepared */
  constructor(
    readonly values: DecodedValues,
    kvs: readonly KeyValue[],
    revision: number,
  ) {
    this.#revision = revision;
    this.#history.forgetThrough(revision);
    for (const kv of kvs) this.#set(kv.key.toString(), values.tryOne(kv));
  }

  /** All changes up to this revision are in. */
  get revision(): number {
    return this.#revision;
  }

  /** Whether a list shows the state of a revision, and all that this server wrote. */
  isFresh(notOlderThan: number): boolean {
    return this.#revision >= notOlderThan && this.#revision >= this.#writtenRevision;
  }

  get(key: string): DecodedEntry | undefined {
    const written = this.#ahead.get(key);
    return written === undefined ? this.#entries.get(key) : written.entry;
  }

  list(prefix: string): ListResult {
    const { keys } = this.#keys.range(prefix);
    return { entries: this.#readable(keys), revision: this.#revision, remainingCount: 0 };
  }

  /**
   * The list at the revision of etcd's answer, which has the number of keys and what has changed since a revision of this cache.
   * @returns undefined if keys were deleted: the answer does not say which
   */
  listWith(prefix: string, { kvs, count, ...answer }: RangeResponse): ListResult | undefined {
    const revision = revisionOf(answer);
    if (this.#revision >= revision) return this.list(prefix);
    const changes = new Map<string, DecodedEntry | undefined>();
    for (const kv of kvs) {
      if (Number(kv.modRevision) > this.#revision) changes.set(kv.key.toString(), this.values.tryOne(kv));
    }
    const { keys } = this.#keys.range(prefix);
    const added = [...changes.keys()].filter((key) => !this.#entries.has(key));
    if (keys.length + added.length !== Number(count)) return undefined;
    const all = added.length === 0 ? keys : [...keys, ...added].sort((a, b) => (a < b ? -1 : 1));
    return { entries: this.#readable(all, changes), revision, remainingCount: 0 };
  }

  #readable(keys: readonly string[], changes?: ReadonlyMap<string, DecodedEntry | undefined>): DecodedEntry[] {
    const entries: DecodedEntry[] = [];
    for (const key of keys) {
      const entry = changes?.has(key) === true ? changes.get(key) : this.#entries.get(key);
      if (entry !== undefined) entries.push(entry);
    }
    return entries;
  }

  /** Changes after a revision; undefined when the window begins later. */
  since(afterRevision: number): readonly StorageEvent[] | undefined {
    try {
      return this.#history.since(afterRevision);
    } catch (error) {
      if (error instanceof CompactedError) return undefined;
      throw error;
    }
  }

  /** Remembers a write of this server until the watch brings it. */
  wrote(key: string, entry: DecodedEntry | undefined, revision: number): void {
    if (revision <= this.#revision || revision < (this.#ahead.get(key)?.revision ?? 0)) return;
    this.#ahead.set(key, { entry, revision });
    this.#writtenRevision = Math.max(this.#writtenRevision, revision);
  }

  /**
   * Takes in the next change that etcd sent. A value that cannot be read is to watchers as if the key did not exist.
   * @param event prepared
   * @returns undefined if watchers see no change
   */
  apply({ type, kv }: Event, atMs: number): StorageEvent | undefined {
    if (kv === undefined) return undefined;
    const key = kv.key.toString();
    const revision = Number(kv.modRevision);
    const previous = this.#entries.get(key);
    const entry = type === EventType.PUT ? this.values.tryOne(kv) : undefined;
    if (type === EventType.PUT) this.#set(key, entry);
    else this.#delete(key, revision);
    if ((this.#ahead.get(key)?.revision ?? Number.POSITIVE_INFINITY) <= revision) this.#ahead.delete(key);
    const change = changeOf(key, revision, entry, previous);
    if (change !== undefined) this.#history.append({ ...change, previousEntry: undefined, atMs }, revision);
    return change;
  }

  /** All changes up to the revision have been applied. */
  reached(revision: number): void {
    this.#revision = Math.max(this.#revision, revision);
  }

  #set(key: string, entry: DecodedEntry | undefined): void {
    if (!this.#entries.has(key)) this.#keys.add(key);
    this.#entries.set(key, entry);
  }

  #delete(key: string, revision: number): void {
    this.values.drop(key, revision);
    if (this.#entries.delete(key)) this.#keys.delete(key);
  }
}

/** @returns undefined if neither version can be read */
export function changeOf(
  key: string,
  revision: number,
  entry: DecodedEntry | undefined,
  previous: DecodedEntry | undefined,
): StorageEvent | undefined {
  const before = { key, revision, previous: previous?.object };
  if (entry !== undefined) return { type: "put", ...before, object: entry.object, bytes: entry.bytes };
  if (previous === undefined) return undefined;
  return { type: "delete", ...before, object: withResourceVersion(previous.object, revision), bytes: previous.bytes };
}
