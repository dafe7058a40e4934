import { onAbort } from "../../util/async/abort.js";
import type { PodStatus } from "./runtime.js";

/** The cache's entry for one pod. Status and error may both be set, or (after a failed inspection) only the error. */
export interface CachedStatus {
  readonly status: PodStatus | undefined;
  readonly error: unknown;
  /** `default`: the cache stores nothing for this pod, so the runtime has nothing of it */
  readonly kind: "cached" | "default";
  /** Unix ms of the entry's last change; for a default entry `-Infinity` */
  readonly modifiedMs: number;
}

interface Waiter {
  readonly minTimeMs: number;
  readonly release: (cached: CachedStatus) => void;
}

export interface PodCacheOptions {
  /**
   * Events of the runtime also feed the cache: an older status never replaces a newer one, and a wait for a pod without
   * an entry ends at once (its container may have failed to be created, for which the runtime sends no event).
   */
  readonly isEvented?: boolean;
  /** called when a call of `getNewerThan` starts to wait, to ask for a relist */
  readonly onWait?: () => void;
}

/**
 * The status of each pod that the runtime knows of. Pod workers wait here for news.
 *
 * Every entry is at least as new as the global timestamp. A call that needs a status newer than a moment waits until
 * the entry, or the global timestamp (`updateTime`), is newer.
 *
 * Mirrors pkg/kubelet/container/cache.go (cache). The two comparisons differ on purpose, as they do upstream: a new
 * call needs something strictly newer; a waiting call is released by something equally new.
 * Differs: a waiter can give up (its signal); upstream's blocks for good.
 */
export class PodCache {
  readonly #pods = new Map<string, CachedStatus>();
  readonly #waiters = new Map<string, Waiter[]>();
  #timestampMs: number | undefined;

  constructor(readonly options: PodCacheOptions = {}) {}

  /** Unix ms; undefined until the first relist is complete */
  get timestampMs(): number | undefined {
    return this.#timestampMs;
  }

  /** the number of pods with an entry */
  get size(): number {
    return this.#pods.size;
  }

  /** uid and entry of each pod. Mirrors GetAll. */
  entries(): IterableIterator<[string, CachedStatus]> {
    return this.#pods.entries();
  }

  /** The number of waiting `getNewerThan` calls, for one pod or for all. */
  waiting(podUid?: string): number {
    if (podUid !== undefined) return this.#waiters.get(podUid)?.length ?? 0;
    let count = 0;
    for (const waiters of this.#waiters.values()) count += waiters.length;
    return count;
  }

  /** The stored entry, or an empty status: never waits. */
  get(podUid: string): CachedStatus {
    return this.#pods.get(podUid) ?? emptyStatus(podUid);
  }

  /**
   * @param modifiedMs Unix ms before which nothing of this status was read
   * @returns whether it was stored: an evented cache refuses a status older than its own
   */
  set(podUid: string, status: PodStatus | undefined, error: unknown, modifiedMs: number): boolean {
    if (this.options.isEvented === true && (this.#pods.get(podUid)?.modifiedMs ?? modifiedMs) > modifiedMs)
      return false;
    this.#pods.set(podUid, { status, error, kind: "cached", modifiedMs });
    this.#notify(podUid, modifiedMs);
    return true;
  }

  /** Removes a pod. Calls that wait for it go on waiting. */
  delete(podUid: string): void {
    this.#pods.delete(podUid);
  }

  /** Every entry is at least as new as this. It may go back, as upstream's. */
  updateTime(timestampMs: number): void {
    this.#timestampMs = timestampMs;
    for (const podUid of this.#waiters.keys()) this.#notify(podUid, timestampMs);
  }

  /**
   * Waits for a status newer than `minTimeMs` (Unix ms; `-Infinity` accepts any).
   * @throws the signal's reason; the waiter is removed then
   */
  getNewerThan(podUid: string, minTimeMs: number, signal?: AbortSignal): Promise<CachedStatus> {
    const ready = this.#getIfNewerThan(podUid, minTimeMs);
    if (ready !== undefined) return Promise.resolve(ready);
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const link =
        signal &&
        onAbort(signal, () => {
          this.#keep(podUid, (one) => one !== waiter);
          reject(signal.reason);
        });
      const release = (cached: CachedStatus) => {
        link?.[Symbol.dispose]();
        resolve(cached);
      };
      const waiter: Waiter = { minTimeMs, release };
      const waiters = this.#waiters.get(podUid);
      if (waiters === undefined) this.#waiters.set(podUid, [waiter]);
      else waiters.push(waiter);
      this.options.onWait?.();
    });
  }

  #getIfNewerThan(podUid: string, minTimeMs: number): CachedStatus | undefined {
    const entry = this.#pods.get(podUid);
    const allIsNewer = this.#timestampMs !== undefined && this.#timestampMs > minTimeMs;
    if (entry === undefined) return allIsNewer || this.options.isEvented === true ? emptyStatus(podUid) : undefined;
    return allIsNewer || entry.modifiedMs > minTimeMs ? entry : undefined;
  }

  #notify(podUid: string, timestampMs: number): void {
    const waiters = this.#waiters.get(podUid);
    if (waiters === undefined) return;
    this.#keep(podUid, ({ minTimeMs }) => timestampMs < minTimeMs);
    for (const { minTimeMs, release } of waiters) if (timestampMs >= minTimeMs) release(this.get(podUid));
  }

  #keep(podUid: string, stays: (waiter: Waiter) => boolean): void {
    const left = (this.#waiters.get(podUid) ?? []).filter(stays);
    if (left.length === 0) this.#waiters.delete(podUid);
    else this.#waiters.set(podUid, left);
  }
}

/** Mirrors makeDefaultData. */
export function emptyStatus(podUid: string): CachedStatus {
  const status = { podUid, name: "", namespace: "", ips: [], containerStatuses: [], sandboxStatuses: [] };
  return { status, error: undefined, kind: "default", modifiedMs: Number.NEGATIVE_INFINITY };
}
