import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { defined } from "../../../../util/defined.js";
import { withResourceVersion } from "../resource-version.js";
import {
  CompactedError,
  type ConditionalWrite,
  type Freshness,
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
  type WriteOptions,
} from "../storage.js";
import { changesOnly } from "../watch-hub.js";
import type { EtcdClient } from "./client.js";
import type { StorageCodec } from "./codec.js";
import { Compactor } from "./compactor.js";
import { type DecodedEntry, DecodedValues } from "./decoded-values.js";
import type { EtcdError, UndecodableError } from "./errors.js";
import { WatchFeeds } from "./feeds.js";
import { etcdHealth } from "./health.js";
import { JoinedGets } from "./joined-gets.js";
import { LeaseManager } from "./lease-manager.js";
import { prefixRange, prefixRangeAfter } from "./ranges.js";
import { EtcdRequests, type LostRevisions, revisionOf } from "./requests.js";

/** Mirrors requestTimeoutUpperBound in k8s.io/apiserver/pkg/endpoints/handlers/rest.go. */
const REQUEST_TIMEOUT_MS = 34_000;
/** Mirrors DefaultHealthcheckTimeout. */
const HEALTH_TIMEOUT_MS = 2_000;
/** Mirrors DefaultCompactInterval. */
const COMPACTION_INTERVAL_MS = 5 * 60_000;
const DEFAULT_BACKLOG: WatchBacklog = { changes: 10_000, bytes: 16 * 1024 * 1024 };

export interface EtcdStorageOptions {
  readonly watchBacklog?: Partial<WatchBacklog> | undefined;
  readonly onPublished?: OnPublished;
  /** how long a request waits for etcd */
  readonly requestTimeoutMs?: number;
  readonly healthTimeoutMs?: number;
  /** 0: never */
  readonly compactionIntervalMs?: number;
}

export interface EtcdStorageDeps {
  /** closed with the storage */
  readonly client: EtcdClient;
  readonly codec: StorageCodec;
  /** receives problems that no response reports: a value that cannot be read, a failed compaction */
  readonly report: (problem: string) => void;
}

/**
 * The cluster's state in etcd. Several processes can use the same etcd at a time, also a kube-apiserver.
 * Mirrors k8s.io/apiserver/pkg/storage/etcd3/store.go.
 *
 * Requests throw StatusError when etcd does not answer or refuses: 504 or 500 with its words.
 */
export class EtcdStorage implements Storage {
  readonly watchBacklog: WatchBacklog;
  readonly health: StorageHealth;
  readonly hasLeases = true;
  readonly isShared = true;
  readonly #client: EtcdClient;
  readonly #requests: EtcdRequests;
  readonly #gets: JoinedGets;
  readonly #values: DecodedValues;
  #feeds: WatchFeeds;
  readonly #leases: LeaseManager;
  readonly #closed = new AbortController();
  readonly #compacting: Promise<void>;

  constructor(
    readonly deps: EtcdStorageDeps,
    readonly options: EtcdStorageOptions = {},
  ) {
    const { requestTimeoutMs = REQUEST_TIMEOUT_MS, healthTimeoutMs = HEALTH_TIMEOUT_MS } = options;
    this.watchBacklog = { ...DEFAULT_BACKLOG, ...options.watchBacklog };
    this.#client = deps.client;
    this.#values = new DecodedValues(deps.codec, ({ message }: UndecodableError) => deps.report(message));
    this.#requests = new EtcdRequests(this.#client, requestTimeoutMs, (lost) => this.#startOver(lost));
    this.#gets = new JoinedGets(this.#requests);
    this.#feeds = new WatchFeeds(
      { requests: this.#requests, values: this.#values },
      this.watchBacklog,
      options.onPublished,
    );
    this.#leases = new LeaseManager(this.#client, requestTimeoutMs);
    this.health = etcdHealth(this.#client, healthTimeoutMs);
    const { compactionIntervalMs = COMPACTION_INTERVAL_MS } = options;
    const compactor = new Compactor(this.#client, requestTimeoutMs);
    const failed = ({ message }: EtcdError) => deps.report(`compaction failed: ${message}`);
    this.#compacting =
      compactionIntervalMs === 0 ? Promise.resolve() : compactor.run(compactionIntervalMs, failed, this.#closed.signal);
  }

  /** Nothing that was read counts any more: the revisions will name other objects. All watchers list again. */
  #startOver({ had, has }: LostRevisions): void {
    this.deps.report(`etcd has lost its data after revision ${has}: it had come to ${had}. All watchers list again.`);
    this.#values.clear();
    this.#leases.clear();
    void this.#feeds.close(new CompactedError(had, has));
    this.#feeds = this.#makeFeeds();
  }

  #makeFeeds(): WatchFeeds {
    const deps = { requests: this.#requests, values: this.#values };
    return new WatchFeeds(deps, this.watchBacklog, this.options.onPublished);
  }

  async currentRevision(): Promise<number> {
    return this.#requests.currentRevision();
  }

  async hasReached(revision: number): Promise<boolean> {
    return this.#requests.newestRevision >= revision || (await this.currentRevision()) >= revision;
  }

  /** A key that is not in the cache is read from etcd: another server can have created it just now. */
  async get(key: string, { notOlderThan }: Freshness = {}): Promise<GetResult> {
    if (notOlderThan !== undefined) {
      const cache = await this.#feeds.cache(key);
      const entry = cache?.get(key);
      const revision = Math.max(cache?.revision ?? 0, entry?.modRevision ?? 0);
      if (entry !== undefined && revision >= notOlderThan) return { entry, revision, isCached: true };
    }
    const response = await this.#gets.get(key);
    const [kv] = response.kvs;
    return { entry: kv === undefined ? undefined : await this.#values.one(kv), revision: revisionOf(response) };
  }

  /**
   * Whole lists come from the cache; for the newest state etcd is asked what has changed since.
   * Differs: upstream reads the newest state from etcd, and since 1.31 (ConsistentListFromCache) asks it how far the cache must be.
   */
  async list(prefix: string, { notOlderThan, ...range }: ListRange = {}): Promise<ListResult> {
    const { limit = 0, afterKey, atRevision = 0 } = range;
    const isWhole = limit <= 0 && afterKey === undefined && atRevision === 0;
    const cache = isWhole ? await this.#feeds.cache(prefix) : undefined;
    if (cache === undefined) return this.#listFromEtcd(prefix, range);
    if (notOlderThan !== undefined && cache.isFresh(notOlderThan)) return cache.list(prefix);
    const changes = await this.#requests.range({ ...prefixRange(prefix), minModRevision: cache.revision + 1 });
    await this.#values.codec.prepare(changes.kvs);
    return cache.listWith(prefix, changes) ?? this.#listFromEtcd(prefix, range);
  }

  async #listFromEtcd(prefix: string, { limit = 0, afterKey, atRevision = 0 }: ListRange): Promise<ListResult> {
    let range = afterKey === undefined ? prefixRange(prefix) : prefixRangeAfter(prefix, afterKey);
    let revision = atRevision;
    for (;;) {
      const response = await this.#requests.range({ ...range, limit: Math.max(0, limit), revision });
      const { kvs, count } = response;
      // All chunks are read at the revision of the first one.
      if (revision === 0) revision = revisionOf(response);
      const entries = await this.#values.all(kvs);
      const remainingCount = Number(count) - kvs.length;
      const last = kvs.at(-1);
      // A chunk of values that cannot be read does not end the list.
      if (entries.length > 0 || remainingCount === 0 || last === undefined)
        return { entries, revision, remainingCount };
      range = prefixRangeAfter(prefix, last.key.toString());
    }
  }

  async create(key: string, object: KubeObject, options?: WriteOptions): Promise<StoredEntry | undefined> {
    return this.#put(key, object, 0, options);
  }

  async update(
    key: string,
    object: KubeObject,
    expectedRevision: number,
    options?: WriteOptions,
  ): Promise<StoredEntry | undefined> {
    return this.#put(key, object, expectedRevision, options);
  }

  /** @param expectedRevision 0: the key does not exist */
  async #put(
    key: string,
    object: KubeObject,
    expectedRevision: number,
    { ttlSeconds = 0 }: WriteOptions = {},
  ): Promise<StoredEntry | undefined> {
    const lease = ttlSeconds === 0 ? 0n : await this.#requests.answer(this.#leases.leaseFor(ttlSeconds));
    const known = await this.#before(key, expectedRevision);
    const managedFields = known?.managedFields;
    const value = this.deps.codec.encode(object, managedFields);
    // The previous value is only sent when the revision of its creation is not known.
    const prevKv = expectedRevision !== 0 && known === undefined;
    const requestPut = { key: Buffer.from(key), value, lease, prevKv };
    const response = await this.#requests.txn(key, expectedRevision, { requestPut });
    if (!response.succeeded) return undefined;
    const modRevision = revisionOf(response);
    const created = known?.createRevision ?? response.responses[0]?.responsePut?.prevKv?.createRevision;
    const entry: DecodedEntry = {
      key,
      object: withResourceVersion(object, modRevision),
      createRevision: Number(created ?? modRevision),
      modRevision,
      bytes: value.length,
      ...defined({ managedFields }),
    };
    this.#values.add(entry);
    this.#feeds.running(key)?.wrote(key, entry, modRevision);
    return entry;
  }

  /** The version that a write replaces, if it is kept; or if it can have managedFields. */
  async #before(key: string, revision: number): Promise<DecodedEntry | undefined> {
    const known = this.#values.find(key, revision);
    if (known !== undefined || revision === 0 || !this.#values.hasManagedFields) return known;
    const { kvs } = await this.#requests.range({ key: Buffer.from(key) });
    const [kv] = kvs;
    return kv === undefined || Number(kv.modRevision) !== revision ? undefined : this.#values.one(kv);
  }

  async delete(key: string, expectedRevision: number): Promise<StoredEntry | undefined> {
    const known = this.#values.find(key, expectedRevision);
    const requestDeleteRange = { key: Buffer.from(key), prevKv: known === undefined };
    const response = await this.#requests.txn(key, expectedRevision, { requestDeleteRange });
    if (!response.succeeded) return undefined;
    const previous = response.responses[0]?.responseDeleteRange?.prevKvs[0];
    const last = known ?? (previous === undefined ? undefined : await this.#values.one(previous));
    if (last === undefined) return undefined;
    const modRevision = revisionOf(response);
    this.#values.drop(key, modRevision);
    this.#feeds.running(key)?.wrote(key, undefined, modRevision);
    return { ...last, object: withResourceVersion(last.object, modRevision), modRevision };
  }

  explain({ expectedRevision, write }: ConditionalWrite): Transaction {
    return {
      compare: `mod_revision = ${expectedRevision}${expectedRevision === 0 ? " (no such key)" : ""}`,
      success: write === "put" ? "put the object as JSON" : "delete the key",
      failure: expectedRevision === 0 ? "do nothing" : "get the key",
    };
  }

  watch(prefix: string, afterRevision: number, signal: AbortSignal): AsyncIterable<StorageEvent> {
    return changesOnly(this.watchWithProgress(prefix, afterRevision, signal));
  }

  watchWithProgress(
    prefix: string,
    afterRevision: number,
    signal: AbortSignal,
  ): AsyncIterable<StorageEvent | StorageProgress> {
    return this.#feeds.watch(prefix, afterRevision, signal);
  }

  async compact(revision: number): Promise<void> {
    await this.#requests.compact(revision).catch((error: unknown) => {
      // Another server has been faster.
      if (!(error instanceof CompactedError)) throw error;
    });
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all([this.#feeds.close(), this.#compacting]);
    this.#client.close();
  }
}
