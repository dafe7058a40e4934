import { CompactedError, type StorageEvent, type StoredEntry } from "./storage.js";

/** A change, with the previous entry, which an exact read of an older revision restores. */
export interface HistoryRecord extends StorageEvent {
  readonly previousEntry: StoredEntry | undefined;
  readonly atMs: number;
}

export interface HistoryLimits {
  /** a watch can resume from any of this many newest changes. Mirrors defaultLowerBoundCapacity */
  readonly watchableCount: number;
  /** and from any change younger than this. Mirrors eventFreshDuration */
  readonly watchableMs: number;
  /** hard limit on the number of records */
  readonly maxCount: number;
  /** hard limit on the total JSON size of the records */
  readonly maxBytes: number;
}

/**
 * The changes of one resource, oldest first: the watch cache (a window of the newest) and etcd's old revisions (until
 * they are compacted) in one list.
 *
 * Mirrors k8s.io/apiserver/pkg/storage/cacher/watch_cache.go (watchCache.cache, getAllEventsSinceLocked).
 * Differs: upstream's window grows and shrinks by doubling; this one moves one change at a time.
 */
export class EventHistory {
  /** undefined: dropped */
  #records: (HistoryRecord | undefined)[] = [];
  /** total size of the kept records */
  #bytes = 0;
  /** index of the oldest kept record */
  #head = 0;
  /** index of the oldest record from which a watch can start */
  #watchHead = 0;
  /** revision of the newest dropped record; 0 if there is none */
  #forgotten = 0;

  constructor(readonly limits: HistoryLimits) {}

  get size(): number {
    return this.#records.length - this.#head;
  }

  append(record: HistoryRecord, compactedRevision: number): void {
    this.#records.push(record);
    this.#bytes += record.bytes;
    const { watchableCount, watchableMs, maxCount, maxBytes } = this.limits;
    while (this.size > maxCount || (this.#bytes > maxBytes && this.size > 1)) this.#forgetOldest();
    const freshFromMs = record.atMs - watchableMs;
    while (this.#records.length - this.#watchHead > watchableCount) {
      if (this.#at(this.#watchHead).atMs >= freshFromMs) break;
      this.#watchHead++;
    }
    this.trim(compactedRevision);
  }

  /** Drops records that neither a watch nor an exact read can still use. */
  trim(compactedRevision: number): void {
    while (this.#head < this.#watchHead && this.#at(this.#head).revision <= compactedRevision) this.#forgetOldest();
    this.#reclaim();
  }

  /** Drops all records up to `revision`, for watches too. */
  forgetThrough(revision: number): void {
    for (;;) {
      const oldest = this.#records[this.#head];
      if (oldest === undefined || oldest.revision > revision) break;
      this.#forgetOldest();
    }
    this.#forgotten = Math.max(this.#forgotten, revision);
    this.#reclaim();
  }

  /** @throws CompactedError when the history no longer covers the start of the watch */
  since(afterRevision: number): readonly HistoryRecord[] {
    const lost =
      this.#watchHead > 0 ? (this.#records[this.#watchHead - 1]?.revision ?? this.#forgotten) : this.#forgotten;
    if (afterRevision < lost) {
      const oldest = this.#records[this.#watchHead];
      throw new CompactedError(afterRevision, oldest === undefined ? lost : oldest.revision - 1);
    }
    return this.#newerThan(afterRevision);
  }

  /** For exact reads: changes newest first. @throws CompactedError when some of them were dropped */
  undo(toRevision: number): readonly HistoryRecord[] {
    if (toRevision < this.#forgotten) throw new CompactedError(toRevision, this.#forgotten);
    return [...this.#newerThan(toRevision)].reverse();
  }

  #newerThan(revision: number): readonly HistoryRecord[] {
    let low = this.#head;
    let high = this.#records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#at(middle).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#records.slice(low) as HistoryRecord[];
  }

  #at(index: number): HistoryRecord {
    return this.#records[index] as HistoryRecord;
  }

  #forgetOldest(): void {
    const oldest = this.#at(this.#head);
    this.#records[this.#head] = undefined;
    this.#forgotten = oldest.revision;
    this.#bytes -= oldest.bytes;
    this.#head++;
    this.#watchHead = Math.max(this.#watchHead, this.#head);
  }

  /** Compacts the array once half of its slots are dropped records: amortized constant cost per record. */
  #reclaim(): void {
    if (this.#head < 64 || this.#head * 2 < this.#records.length) return;
    this.#records = this.#records.slice(this.#head);
    this.#watchHead -= this.#head;
    this.#head = 0;
  }
}
