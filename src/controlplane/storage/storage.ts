import type { KubeObject } from "../../apimachinery/api/meta.js";

/** How much one watcher may leave unread before it is disconnected. */
export interface WatchBacklog {
  readonly changes: number;
  /** of JSON */
  readonly bytes: number;
}

/**
 * The versioned key-value store under the API server, asynchronous and revision-based so that etcd can serve it:
 * one counter of revisions for all keys, compare-and-swap on the modification revision, watch from a revision,
 * compaction. Mirrors what k8s.io/apiserver/pkg/storage/etcd3/store.go asks of etcd.
 *
 * Keys are upstream's: `/registry/<resource>/<namespace>/<name>`, without the namespace for cluster scope; a few resources
 * have older words there (`minions`). Conflict texts quote them.
 * Objects that come out carry their modification revision as metadata.resourceVersion, and are never changed after.
 */
export interface Storage {
  readonly watchBacklog: WatchBacklog;
  /** The newest revision; 1 on an empty store. */
  currentRevision(): Promise<number>;
  get(key: string): Promise<{ readonly entry: StoredEntry | undefined; readonly revision: number }>;
  /** Entries whose key begins with `prefix`, by key. */
  list(prefix: string, options?: ListRange): Promise<ListResult>;
  /** @returns undefined when the key exists already */
  create(key: string, object: KubeObject): Promise<StoredEntry | undefined>;
  /** @returns undefined when the key's modification revision is not `expectedRevision` (any more) */
  update(key: string, object: KubeObject, expectedRevision: number): Promise<StoredEntry | undefined>;
  /**
   * The deletion event carries the last object with the deletion's revision as its resourceVersion.
   * @returns undefined when the key's modification revision is not `expectedRevision` (any more)
   */
  delete(key: string, expectedRevision: number): Promise<StoredEntry | undefined>;
  /**
   * Changes after `afterRevision` to keys that begin with `prefix`, in order of revision, without a gap, until `signal`
   * aborts (normal end).
   * @throws CompactedError when history no longer reaches back that far
   * @throws SlowWatcherError when the reader fell too far behind
   */
  watch(prefix: string, afterRevision: number, signal: AbortSignal): AsyncIterable<StorageEvent>;
  /** Forgets history up to and including `revision`: exact reads and watches of older revisions get CompactedError. */
  compact(revision: number): Promise<void>;
  close(): Promise<void>;
}

export interface StoredEntry {
  readonly key: string;
  readonly object: KubeObject;
  readonly createRevision: number;
  readonly modRevision: number;
}

export interface ListRange {
  /** at most so many entries; absent or 0: all */
  readonly limit?: number;
  /** only keys greater than this one */
  readonly afterKey?: string;
  /** as of this revision; absent: now. @throws CompactedError */
  readonly atRevision?: number;
}

export interface ListResult {
  readonly entries: readonly StoredEntry[];
  /** the revision the list is of */
  readonly revision: number;
  /** how many more keys follow the last entry */
  readonly remainingCount: number;
}

export interface StorageEvent {
  readonly type: "put" | "delete";
  readonly key: string;
  readonly revision: number;
  /** the new object; for a delete the last one, with the deletion's resourceVersion */
  readonly object: KubeObject;
  /** what was there before; undefined for a new key */
  readonly previous: KubeObject | undefined;
  /** about the length of the object's JSON: what keeping the event costs */
  readonly bytes: number;
}

/** History was compacted beyond what was asked for. */
export class CompactedError extends Error {
  override readonly name = "CompactedError";
  constructor(
    readonly asked: number,
    readonly oldest: number,
  ) {
    super(`revision ${asked} has been compacted, the oldest kept is ${oldest}`);
  }
}

/** The watcher did not read fast enough; it must list and watch anew. */
export class SlowWatcherError extends Error {
  override readonly name = "SlowWatcherError";
}
