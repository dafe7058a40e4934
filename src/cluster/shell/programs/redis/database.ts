import type { Clock } from "../../../../util/clock.js";
import type { HeldMemory } from "../../process/memory-account.js";
import { ITEM_BYTES } from "./resp.js";

/** A key's value, by type. */
interface Values {
  string: string;
  list: string[];
  hash: Map<string, string>;
  /** its members are the keys */
  set: Map<string, string>;
}

class Entry<T extends keyof Values = keyof Values> {
  /** Unix ms */
  expiresMs: number | undefined;
  bytes = 0;

  constructor(
    readonly type: T,
    public value: Values[T],
  ) {}
}

/** A command's error, as its client sees it. */
export class RedisError extends Error {
  override readonly name = "RedisError";
}

/** Counts work, and yields to others. */
export type Turn = (units: number) => Promise<void> | undefined;

/** The memory of a key besides its bytes. */
const KEY_BYTES = 160;

/** The memory of an item, or of a field and its value. */
export function costOf(...texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length + ITEM_BYTES, ITEM_BYTES);
}

/** What all databases share: their memory, which is the process's. */
export class Store {
  usedBytes = 0;
  expiredKeys = 0;
  evictedKeys = 0;
  readonly databases = Array.from({ length: 16 }, () => new Database(this));

  constructor(
    readonly clock: Clock,
    readonly memory: HeldMemory,
  ) {}

  /** Changes an entry's size. @throws OutOfMemoryError */
  grow(entry: Entry, bytes: number): void {
    if (bytes > 0) this.memory.hold(bytes);
    else this.memory.release(-bytes);
    entry.bytes += bytes;
    this.usedBytes += bytes;
  }

  /**
   * Deletes keys until at most `most` bytes are used. Mirrors redis' evict.c (performEvictions). Differs: whatever the
   * policy for all or for volatile keys is, they go in the exact order of their last use, database by database.
   * @returns false if the policy has no more key to delete
   */
  async makeRoom(most: number, policy: string, turn: Turn): Promise<boolean> {
    for (const database of policy === "noeviction" ? [] : this.databases) {
      for (const key of (policy.startsWith("volatile") ? database.volatile : database.entries).keys()) {
        if (this.usedBytes <= most) return true;
        this.evictedKeys += Number(database.delete(key));
        await turn(1 / 8);
      }
    }
    return this.usedBytes <= most;
  }
}

/** The keys of one database. In front are those that were not used for the longest time. */
export class Database {
  readonly entries = new Map<string, Entry>();
  /** those that expire */
  readonly volatile = new Map<string, Entry>();

  constructor(readonly store: Store) {}

  /** The entry, which from now on is the one that was used last. */
  find(key: string): Entry | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined || this.#isOver(key, entry)) return undefined;
    for (const map of [this.entries, this.volatile]) if (map.delete(key)) map.set(key, entry);
    return entry;
  }

  #isOver(key: string, { expiresMs }: Entry): boolean {
    if (expiresMs === undefined || expiresMs > this.store.clock.now()) return false;
    this.store.expiredKeys++;
    return this.delete(key);
  }

  /** Deletes what has expired. @returns the keys */
  async keys(turn: Turn, matches = (_key: string) => true): Promise<string[]> {
    const keys: string[] = [];
    for (const key of [...this.entries.keys()]) {
      const entry = this.entries.get(key);
      if (entry !== undefined && !this.#isOver(key, entry) && matches(key)) keys.push(key);
      await turn(1 / 8 + key.length / 2048);
    }
    return keys;
  }

  /** @returns undefined without the key @throws RedisError for a value of another type */
  get<T extends keyof Values>(key: string, type: T): Entry<T> | undefined {
    const entry = this.find(key);
    if (entry === undefined || entry.type === type) return entry as Entry<T> | undefined;
    throw new RedisError("WRONGTYPE Operation against a key holding the wrong kind of value");
  }

  /** The entry, an empty one if there is none. @throws RedisError for a value of another type */
  make<T extends keyof Values>(key: string, type: T, empty: Values[T]): Entry<T> {
    const before = this.get(key, type);
    if (before !== undefined) return before;
    const entry = new Entry(type, empty);
    this.store.grow(entry, KEY_BYTES + key.length);
    this.entries.set(key, entry);
    return entry;
  }

  /** @param ms Unix ms; undefined: never */
  expire(key: string, entry: Entry, ms: number | undefined): void {
    entry.expiresMs = ms;
    if (ms === undefined) this.volatile.delete(key);
    else this.volatile.set(key, entry);
  }

  delete(key: string): boolean {
    const entry = this.entries.get(key);
    if (entry !== undefined) this.store.grow(entry, -entry.bytes);
    this.volatile.delete(key);
    return this.entries.delete(key);
  }
}
