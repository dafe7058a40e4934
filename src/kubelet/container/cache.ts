import type { PodStatus } from "./runtime.js";

/** What the cache answers for one pod. Status and error may both be there, or (after a failed inspection) only the error. */
export interface CachedStatus {
  readonly status: PodStatus | undefined;
  readonly error: unknown;
  /** `default`: nothing is stored for this pod, which means that the runtime has nothing of it */
  readonly kind: "cached" | "default";
  /** Unix ms at which the entry was last modified; of a default answer the beginning of time */
  readonly modifiedMs: number;
}

interface Waiter {
  readonly minTimeMs: number;
  readonly release: (cached: CachedStatus) => void;
}

export interface PodCacheOptions {
  /**
   * Also fed by events of the runtime: an older status never replaces a newer one, and nobody waits for a pod of which
   * nothing is stored (its container may have failed to be created, which the runtime sends no event for).
   */
  readonly isEvented?: boolean;
}

/**
 * The status of each pod that the runtime knows of, and the place where pod workers wait for news.
 *
 * All of it is at least as new as the global timestamp. Whoever asks for a status newer than a moment waits until the
 * entry, or everything (`updateTime`), is.
 *
 * Mirrors pkg/kubelet/container/cache.go (cache). The two comparisons differ on purpose, as they do upstream: a call that
 * has just come needs something strictly newer; one that waits is released by something as new.
 * Differs: a waiter can give up (its signal), upstream's blocks for good.
 */
export class PodCache {
  readonly #pods = new Map<string, CachedStatus>();
  readonly #waiters = new Map<string, Waiter[]>();
  #timestampMs: number | undefined;

  constructor(readonly options: PodCacheOptions = {}) {}

  /** Unix ms; undefined until the first relist is through */
  get timestampMs(): number | undefined {
    return this.#timestampMs;
  }

  /** uid and entry of each pod. Mirrors GetAll. */
  entries(): IterableIterator<[string, CachedStatus]> {
    return this.#pods.entries();
  }

  /** How many calls of `getNewerThan` wait, for one pod or for all. */
  waiting(podUid?: string): number {
    if (podUid !== undefined) return this.#waiters.get(podUid)?.length ?? 0;
    let count = 0;
    for (const waiters of this.#waiters.values()) count += waiters.length;
    return count;
  }

  /** What is stored, or an empty status: never waits. */
  get(podUid: string): CachedStatus {
    return this.#pods.get(podUid) ?? emptyStatus(podUid);
  }

  /**
   * @param modifiedMs Unix ms before which nothing of this status was read
   * @returns whether it was stored: only an evented cache refuses, what is older than what it has
   */
  set(podUid: string, status: PodStatus | undefined, error: unknown, modifiedMs: number): boolean {
    if (this.options.isEvented === true && (this.#pods.get(podUid)?.modifiedMs ?? modifiedMs) > modifiedMs)
      return false;
    this.#pods.set(podUid, { status, error, kind: "cached", modifiedMs });
    this.#notify(podUid, modifiedMs);
    return true;
  }

  /** Forgets a pod. Whoever waits for it goes on waiting. */
  delete(podUid: string): void {
    this.#pods.delete(podUid);
  }

  /** Everything in here is at least as new as this. It may go back, as upstream's. */
  updateTime(timestampMs: number): void {
    this.#timestampMs = timestampMs;
    for (const podUid of this.#waiters.keys()) this.#notify(podUid, timestampMs);
  }

  /**
   * Waits for a status newer than `minTimeMs` (Unix ms; `-Infinity` is older than all).
   * @throws the signal's reason; the waiter is gone then
   */
  getNewerThan(podUid: string, minTimeMs: number, signal?: AbortSignal): Promise<CachedStatus> {
    const ready = this.#getIfNewerThan(podUid, minTimeMs);
    if (ready !== undefined) return Promise.resolve(ready);
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#keep(podUid, (one) => one !== waiter);
        reject(signal?.reason);
      };
      const release = (cached: CachedStatus) => {
        signal?.removeEventListener("abort", onAbort);
        resolve(cached);
      };
      const waiter: Waiter = { minTimeMs, release };
      const waiters = this.#waiters.get(podUid);
      if (waiters === undefined) this.#waiters.set(podUid, [waiter]);
      else waiters.push(waiter);
      signal?.addEventListener("abort", onAbort, { once: true });
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
function emptyStatus(podUid: string): CachedStatus {
  const status = { podUid, name: "", namespace: "", ips: [], containerStatuses: [], sandboxStatuses: [] };
  return { status, error: undefined, kind: "default", modifiedMs: Number.NEGATIVE_INFINITY };
}
