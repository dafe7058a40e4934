import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { jsonBytes } from "../../../staging/apimachinery/json-bytes.js";
import type { Clock } from "../../../util/clock.js";
import { compareText } from "../../../util/text/compare-text.js";
import { EventHistory, type HistoryLimits, type HistoryRecord } from "./history.js";
import { withResourceVersion } from "./resource-version.js";
import { SortedKeys } from "./sorted-keys.js";
import {
  CompactedError,
  type ConditionalWrite,
  type GetResult,
  type ListRange,
  type ListResult,
  type OnPublished,
  type Storage,
  type StorageEvent,
  type StorageHealth,
  type StorageProgress,
  type StoredEntry,
  type Transaction,
  type WatchBacklog,
} from "./storage.js";
import { changesOnly, resourcePrefixOf, WatchHub } from "./watch-hub.js";

export interface MemoryStorageOptions {
  /** how often older revisions are compacted, as the API server requests from etcd. Mirrors DefaultCompactInterval */
  readonly compactionIntervalMs?: number;
  readonly history?: Partial<HistoryLimits>;
  /** default: 10,000 changes, 16 MiB */
  readonly watchBacklog?: Partial<WatchBacklog> | undefined;
  readonly onPublished?: OnPublished;
}

const DEFAULT_COMPACTION_INTERVAL_MS = 5 * 60_000;
const DEFAULT_LIMITS: HistoryLimits = {
  watchableCount: 100,
  watchableMs: 75_000,
  maxCount: 10_000,
  maxBytes: 8 * 1024 * 1024,
};
const DEFAULT_BACKLOG: WatchBacklog = { changes: 10_000, bytes: 16 * 1024 * 1024 };

interface WeighedEntry extends StoredEntry {
  readonly bytes: number;
}

/**
 * The cluster's state in memory, in place of etcd and the API server's watch cache.
 *
 * Compaction needs no timer: each operation first applies the compactions that are due by the clock. They drop old
 * revisions for exact reads; watches resume from the more recent window in `history`.
 *
 * Mirrors k8s.io/apiserver/pkg/storage/etcd3 (store.go, compact.go) over go.etcd.io/etcd/server/storage/mvcc.
 */
export class MemoryStorage implements Storage {
  readonly watchBacklog: WatchBacklog;
  /** It answers as long as the process does. */
  readonly health: StorageHealth = { checks: [{ name: "storage" }], components: [{ name: "storage" }] };
  readonly hasLeases = false;
  readonly isShared = false;
  readonly #entries = new Map<string, WeighedEntry>();
  readonly #keys = new SortedKeys();
  readonly #histories = new Map<string, EventHistory>();
  readonly #hub: WatchHub;
  readonly #clock: Clock;
  readonly #limits: HistoryLimits;
  readonly #compactionIntervalMs: number;
  #revision = 1;
  #compactedRevision = 0;
  /** the revision passed to `compact`; watches cannot start before it either */
  #forgottenRevision = 0;
  #nextCompactionMs: number;
  /** the target of the next compaction: the newest revision at the time of the last one */
  #revisionAtLastCompaction = 1;

  constructor(deps: { readonly clock: Clock }, options: MemoryStorageOptions = {}) {
    this.#clock = deps.clock;
    this.#limits = { ...DEFAULT_LIMITS, ...options.history };
    this.watchBacklog = { ...DEFAULT_BACKLOG, ...options.watchBacklog };
    this.#hub = new WatchHub(this.watchBacklog, options.onPublished);
    this.#compactionIntervalMs = options.compactionIntervalMs ?? DEFAULT_COMPACTION_INTERVAL_MS;
    this.#nextCompactionMs = this.#clock.now() + this.#compactionIntervalMs;
  }

  protected entryOf(key: string): StoredEntry | undefined {
    return this.#entries.get(key);
  }

  /** All entries of now, in no order. */
  protected allEntries(): StoredEntry[] {
    return [...this.#entries.values()];
  }

  /** Takes over an entry of an earlier process. Only before the first use. */
  protected restore(entry: StoredEntry): void {
    this.#entries.set(entry.key, { ...entry, bytes: jsonBytes(entry.object) });
    this.#keys.add(entry.key);
  }

  /** Continues at a revision, without the history before it. Only before the first use. */
  protected continueAt(revision: number): void {
    this.#revision = revision;
    this.#revisionAtLastCompaction = revision;
    this.#compactedRevision = revision;
    this.#forgottenRevision = revision;
  }

  /** The number of open watches. */
  get watcherCount(): number {
    return this.#hub.size;
  }

  async currentRevision(): Promise<number> {
    return this.#revision;
  }

  async hasReached(revision: number): Promise<boolean> {
    return revision <= this.#revision;
  }

  async get(key: string): Promise<GetResult> {
    return { entry: this.#entries.get(key), revision: this.#revision };
  }

  async list(prefix: string, range: ListRange = {}): Promise<ListResult> {
    this.#compactByTime();
    const { atRevision } = range;
    const limit = range.limit === undefined || range.limit <= 0 ? undefined : range.limit;
    if (atRevision !== undefined && atRevision < this.#revision) return this.#listAt(prefix, atRevision, range, limit);
    const { keys, remaining } = this.#keys.range(prefix, range.afterKey, limit);
    const entries = keys.map((key) => this.#entries.get(key) as StoredEntry);
    return { entries, revision: this.#revision, remainingCount: remaining };
  }

  /** The current entries with all newer changes undone. */
  #listAt(prefix: string, atRevision: number, range: ListRange, limit = Number.POSITIVE_INFINITY): ListResult {
    if (atRevision < this.#compactedRevision) throw new CompactedError(atRevision, this.#compactedRevision);
    const past = new Map<string, StoredEntry | undefined>();
    for (const history of this.#historiesOf(prefix)) {
      for (const { key, previousEntry } of history.undo(atRevision)) {
        if (key.startsWith(prefix)) past.set(key, previousEntry);
      }
    }
    const afterKey = range.afterKey ?? "";
    const { keys } = this.#keys.range(prefix, range.afterKey);
    const known = keys.filter((key) => !past.has(key));
    const changed = [...past].filter(([key, entry]) => entry !== undefined && key > afterKey).map(([key]) => key);
    const all = changed.length === 0 ? known : [...known, ...changed].sort(compareText);
    const shown = all.slice(0, limit);
    const entries = shown.map((key) => (past.has(key) ? past.get(key) : this.#entries.get(key)) as StoredEntry);
    return { entries, revision: atRevision, remainingCount: all.length - shown.length };
  }

  async create(key: string, object: KubeObject): Promise<StoredEntry | undefined> {
    this.#compactByTime();
    if (this.#entries.has(key)) return undefined;
    const revision = ++this.#revision;
    const entry = {
      key,
      object: withResourceVersion(object, revision),
      createRevision: revision,
      modRevision: revision,
      bytes: jsonBytes(object),
    };
    this.#entries.set(key, entry);
    this.#keys.add(key);
    this.#record("put", entry, undefined);
    return entry;
  }

  async update(key: string, object: KubeObject, expectedRevision: number): Promise<StoredEntry | undefined> {
    this.#compactByTime();
    const current = this.#entries.get(key);
    if (current === undefined || current.modRevision !== expectedRevision) return undefined;
    const revision = ++this.#revision;
    const stored = withResourceVersion(object, revision);
    const { createRevision } = current;
    const entry = { key, object: stored, createRevision, modRevision: revision, bytes: jsonBytes(stored) };
    this.#entries.set(key, entry);
    this.#record("put", entry, current);
    return entry;
  }

  async delete(key: string, expectedRevision: number): Promise<StoredEntry | undefined> {
    this.#compactByTime();
    const current = this.#entries.get(key);
    if (current === undefined || current.modRevision !== expectedRevision) return undefined;
    const revision = ++this.#revision;
    const entry = { ...current, object: withResourceVersion(current.object, revision), modRevision: revision };
    this.#entries.delete(key);
    this.#keys.delete(key);
    this.#record("delete", entry, current);
    return entry;
  }

  /** No transaction is needed: nothing else runs between the comparison and the write. */
  explain({ expectedRevision, write }: ConditionalWrite): Transaction {
    const compare = expectedRevision === 0 ? "no entry has the key" : `the entry's modRevision is ${expectedRevision}`;
    const success = write === "put" ? "keep the object with the next revision" : "remove the entry";
    return { compare, success, failure: "change nothing" };
  }

  #record(type: StorageEvent["type"], entry: WeighedEntry, previousEntry: StoredEntry | undefined): void {
    const record: HistoryRecord = {
      type,
      key: entry.key,
      revision: entry.modRevision,
      object: entry.object,
      previous: previousEntry?.object,
      previousEntry,
      bytes: entry.bytes,
      atMs: this.#clock.now(),
    };
    this.#historyOf(resourcePrefixOf(entry.key)).append(record, this.#compactedRevision);
    this.#hub.publish(record);
  }

  watch(prefix: string, afterRevision: number, signal: AbortSignal): AsyncIterable<StorageEvent> {
    return changesOnly(this.watchWithProgress(prefix, afterRevision, signal));
  }

  async *watchWithProgress(
    prefix: string,
    afterRevision: number,
    signal: AbortSignal,
  ): AsyncGenerator<StorageEvent | StorageProgress> {
    if (signal.aborted) return;
    this.#compactByTime();
    const histories = [...this.#historiesOf(prefix)];
    const missed = histories.flatMap((history) => history.since(afterRevision));
    if (histories.length > 1) missed.sort((a, b) => a.revision - b.revision);
    // No await between reading the history and joining the hub, so that no change is missed.
    const news = this.#hub.subscribe(prefix);
    try {
      for (const event of missed) {
        if (signal.aborted) return;
        if (event.key.startsWith(prefix)) yield event;
      }
      for await (const event of news.queue.iterate(signal)) if (event.revision > afterRevision) yield event;
    } finally {
      news.leave();
    }
  }

  async compact(revision: number): Promise<void> {
    this.#forgottenRevision = Math.max(this.#forgottenRevision, Math.min(revision, this.#revision));
    this.#compactedRevision = Math.max(this.#compactedRevision, this.#forgottenRevision);
    for (const history of this.#histories.values()) history.forgetThrough(this.#forgottenRevision);
  }

  /** etcd's periodic compaction: ends exact reads of older revisions; watches can still start within their window. */
  compactReads(revision: number): void {
    this.#compactedRevision = Math.max(this.#compactedRevision, Math.min(revision, this.#revision));
    for (const history of this.#histories.values()) history.trim(this.#compactedRevision);
  }

  async close(): Promise<void> {
    this.#hub.close();
  }

  #compactByTime(): void {
    const nowMs = this.#clock.now();
    while (nowMs >= this.#nextCompactionMs) {
      this.compactReads(this.#revisionAtLastCompaction);
      this.#revisionAtLastCompaction = this.#revision;
      this.#nextCompactionMs += this.#compactionIntervalMs;
    }
  }

  #historyOf(resourcePrefix: string): EventHistory {
    let history = this.#histories.get(resourcePrefix);
    if (history === undefined) {
      history = new EventHistory(this.#limits);
      history.forgetThrough(this.#forgottenRevision);
      this.#histories.set(resourcePrefix, history);
    }
    return history;
  }

  #historiesOf(prefix: string): Iterable<EventHistory> {
    const resourcePrefix = resourcePrefixOf(prefix);
    return resourcePrefix === "" ? this.#histories.values() : [this.#historyOf(resourcePrefix)];
  }
}
