import { CompactedError, type StorageEvent, type StoredEntry } from "./storage.js";

/** A change, with what an exact read of an older revision needs to undo it. */
export interface HistoryRecord extends StorageEvent {
  readonly previousEntry: StoredEntry | undefined;
  readonly atMs: number;
}

export interface HistoryLimits {
  /** a watch can always resume within so many of the newest changes. Mirrors defaultLowerBoundCapacity */
  readonly watchableCount: number;
  /** … and within changes younger than this. Mirrors eventFreshDuration */
  readonly watchableMs: number;
  /** no more records than this are kept, come what may */
  readonly maxCount: number;
}

/**
 * The changes of one resource, oldest first: the watch cache (a window of the newest) and etcd's old revisions (until
 * they are compacted) in one list.
 *
 * Mirrors k8s.io/apiserver/pkg/storage/cacher/watch_cache.go (watchCache.cache, getAllEventsSinceLocked).
 * Differs: upstream's window grows and shrinks by doubling; here its start moves change by change.
 */
export class EventHistory {
  #records: HistoryRecord[] = [];
  /** index of the oldest record that is kept */
  #head = 0;
  /** index of the oldest record that a watch may begin with */
  #watchHead = 0;
  /** revision of the newest record that was forgotten; 0: none was */
  #forgotten = 0;

  constructor(readonly limits: HistoryLimits) {}

  get size(): number {
    return this.#records.length - this.#head;
  }

  append(record: HistoryRecord, compactedRevision: number): void {
    this.#records.push(record);
    const { watchableCount, watchableMs, maxCount } = this.limits;
    const freshFromMs = record.atMs - watchableMs;
    while (this.#records.length - this.#watchHead > watchableCount) {
      const oldest = this.#records[this.#watchHead] as HistoryRecord;
      if (oldest.atMs >= freshFromMs && this.size <= maxCount) break;
      this.#watchHead++;
    }
    this.trim(compactedRevision);
  }

  /** Forgets what neither a watch nor an exact read may still ask for. */
  trim(compactedRevision: number): void {
    while (this.#head < this.#watchHead) {
      const oldest = this.#records[this.#head] as HistoryRecord;
      if (oldest.revision > compactedRevision && this.size <= this.limits.maxCount) break;
      this.#forget(oldest);
    }
    this.#reclaim();
  }

  /** Forgets all up to `revision`, for watches too. */
  forgetThrough(revision: number): void {
    for (;;) {
      const oldest = this.#records[this.#head];
      if (oldest === undefined || oldest.revision > revision) break;
      this.#forget(oldest);
    }
    this.#forgotten = Math.max(this.#forgotten, revision);
    this.#watchHead = Math.max(this.#watchHead, this.#head);
    this.#reclaim();
  }

  /** @throws CompactedError when a watch may not begin that far back any more */
  since(afterRevision: number): readonly HistoryRecord[] {
    const lost =
      this.#watchHead > 0 ? (this.#records[this.#watchHead - 1]?.revision ?? this.#forgotten) : this.#forgotten;
    if (afterRevision < lost) {
      const oldest = this.#records[this.#watchHead];
      throw new CompactedError(afterRevision, oldest === undefined ? lost : oldest.revision - 1);
    }
    return this.#newerThan(afterRevision);
  }

  /** For exact reads: changes newest first. @throws CompactedError when some of them were forgotten */
  undo(toRevision: number): readonly HistoryRecord[] {
    if (toRevision < this.#forgotten) throw new CompactedError(toRevision, this.#forgotten);
    return [...this.#newerThan(toRevision)].reverse();
  }

  #newerThan(revision: number): readonly HistoryRecord[] {
    let low = this.#head;
    let high = this.#records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#records[middle] as HistoryRecord).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#records.slice(low);
  }

  #forget(oldest: HistoryRecord): void {
    this.#forgotten = oldest.revision;
    this.#head++;
  }

  /** Gives forgotten records' memory back once they are half of the array: constant cost per record. */
  #reclaim(): void {
    if (this.#head < 64 || this.#head * 2 < this.#records.length) return;
    this.#records = this.#records.slice(this.#head);
    this.#watchHead -= this.#head;
    this.#head = 0;
  }
}
