import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import type { HealthCheck } from "../../../staging/server/healthz.js";

/** How many unread changes one watcher can have before it is disconnected. */
export interface WatchBacklog {
  readonly changes: number;
  /** of JSON */
  readonly bytes: number;
}

/**
 * The versioned key-value store behind the API server, asynchronous and revision-based so that etcd can implement it: one
 * revision counter for all keys, compare-and-swap on the modification revision, watch from a revision, compaction.
 * Mirrors the use of etcd in k8s.io/apiserver/pkg/storage/etcd3/store.go.
 *
 * Keys are upstream's: `/registry/<resource>/<namespace>/<name>`, without the namespace for cluster scope; a few
 * resources have legacy names (`minions`). Conflict messages quote them. Returned objects carry their modification
 * revision as metadata.resourceVersion, and never change afterwards.
 */
export interface Storage {
  readonly watchBacklog: WatchBacklog;
  readonly health: StorageHealth;
  /** Whether it deletes keys whose time to live has passed. */
  readonly hasLeases: boolean;
  /** Whether other processes can write to it, too. */
  readonly isShared: boolean;
  /** The newest revision; 1 on an empty store. */
  currentRevision(): Promise<number>;
  /** Whether the storage has come to this revision. */
  hasReached(revision: number): Promise<boolean>;
  get(key: string, freshness?: Freshness): Promise<GetResult>;
  /** Entries whose key begins with `prefix`, sorted by key. */
  list(prefix: string, options?: ListRange): Promise<ListResult>;
  /** @returns undefined when the key already exists */
  create(key: string, object: KubeObject, options?: WriteOptions): Promise<StoredEntry | undefined>;
  /** @returns undefined when the key's modification revision is not `expectedRevision` */
  update(
    key: string,
    object: KubeObject,
    expectedRevision: number,
    options?: WriteOptions,
  ): Promise<StoredEntry | undefined>;
  /**
   * The deletion event carries the last object with the deletion's revision as its resourceVersion.
   * @returns undefined when the key's modification revision is not `expectedRevision`
   */
  delete(key: string, expectedRevision: number): Promise<StoredEntry | undefined>;
  /** What `create`, `update` and `delete` do, in words for the trace. */
  explain(write: ConditionalWrite): Transaction;
  /**
   * Streams all changes after `afterRevision` to keys that begin with `prefix`, in order of revision, until `signal`
   * aborts (normal end).
   * @throws CompactedError when history no longer reaches back that far
   * @throws SlowWatcherError when the reader falls too far behind
   */
  watch(prefix: string, afterRevision: number, signal: AbortSignal): AsyncIterable<StorageEvent>;
  /** As `watch`, with progress records while nothing changes. */
  watchWithProgress(
    prefix: string,
    afterRevision: number,
    signal: AbortSignal,
  ): AsyncIterable<StorageEvent | StorageProgress>;
  /** Drops history up to and including `revision`: exact reads and watches of older revisions get CompactedError. */
  compact(revision: number): Promise<void>;
  close(): Promise<void>;
}

/** How the API server reports the health of its storage. */
export interface StorageHealth {
  /** behind /healthz, /livez and /readyz */
  readonly checks: readonly ServerCheck[];
  /** its rows in componentstatuses */
  readonly components: readonly HealthCheck[];
}

/** A check of the API server's own health. */
export interface ServerCheck extends HealthCheck {
  /** only /readyz runs this check */
  readonly readyOnly?: boolean;
}

export interface WriteOptions {
  /** deletes the key after at least this many seconds without another write, if the storage has leases */
  readonly ttlSeconds?: number | undefined;
}

/** A write under a condition: the key has this modification revision. */
export interface ConditionalWrite {
  readonly key: string;
  /** 0: the key does not exist */
  readonly expectedRevision: number;
  readonly write: "put" | "delete";
}

/** A condition, and what is done if it holds and if it does not: `mod_revision = 12`, `put the object`, `read the key`. */
export interface Transaction {
  readonly compare: string;
  readonly success: string;
  readonly failure: string;
}

/** Called with each change that a storage hands to its watches. @param watches their number */
export type OnPublished = (event: StorageEvent, watches: number) => void;

export interface StoredEntry {
  readonly key: string;
  readonly object: KubeObject;
  readonly createRevision: number;
  readonly modRevision: number;
}

/** How old the state can be that a read shows. The writes of this process are always in it. */
export interface Freshness {
  /** any state of at least this revision, which is reached; 0: any. Absent: the newest when the read begins */
  readonly notOlderThan?: number;
}

export interface GetResult {
  readonly entry: StoredEntry | undefined;
  readonly revision: number;
  /** Another process can have changed the entry since. */
  readonly isCached?: boolean;
}

export interface ListRange extends Freshness {
  /** maximum number of entries; absent or 0: no limit */
  readonly limit?: number;
  /** only keys after this one */
  readonly afterKey?: string;
  /** as of this revision; absent: now. @throws CompactedError */
  readonly atRevision?: number;
}

export interface ListResult {
  readonly entries: readonly StoredEntry[];
  /** the revision of this list */
  readonly revision: number;
  /** the number of matching keys after the last entry */
  readonly remainingCount: number;
}

export interface StorageEvent {
  readonly type: "put" | "delete";
  readonly key: string;
  readonly revision: number;
  /** the new object; for a delete the last one, with the deletion's resourceVersion */
  readonly object: KubeObject;
  /** the previous object; undefined for a new key */
  readonly previous: KubeObject | undefined;
  /** approximate length of the object's JSON: the memory cost of the event */
  readonly bytes: number;
}

/** All changes up to the revision have been sent: etcd reports it periodically while nothing changes. */
export interface StorageProgress {
  readonly type: "progress";
  readonly revision: number;
}

/** The requested revision was compacted. */
export class CompactedError extends Error {
  override readonly name = "CompactedError";
  constructor(
    readonly asked: number,
    readonly oldest: number,
  ) {
    super(`revision ${asked} has been compacted; the oldest available is ${oldest}`);
  }
}

/** The watcher did not read fast enough; it must list and watch again. */
export class SlowWatcherError extends Error {
  override readonly name = "SlowWatcherError";
}
