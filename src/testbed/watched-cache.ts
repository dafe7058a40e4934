import type { CachedStatus } from "../kubelet/container/cache.js";
import type { WorkerPodCache } from "../kubelet/options.js";
import type { Trace } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import { orAborted } from "../util/concurrency.js";

const UPSTREAM = { file: "pkg/kubelet/container/cache.go", func: "GetNewerThan" };

export interface WatchedCacheDeps {
  readonly inner: WorkerPodCache;
  readonly clock: Clock;
  readonly trace: Trace;
  /** `namespace/name` of a pod; undefined: the pod is gone */
  readonly podName: (podUid: string) => string | undefined;
}

interface Held {
  readonly release: () => void;
  readonly newerThanMs: number;
}

/**
 * Wraps the cache of the pod workers: reports when a worker waits for a newer status. With `isHolding`, a worker waits until
 * the user releases it, and then gets the cache's answer.
 */
export class WatchedCache implements WorkerPodCache {
  readonly #held = new Map<string, Held>();

  constructor(
    readonly deps: WatchedCacheDeps,
    readonly options: { readonly isHolding: boolean },
  ) {}

  /** UIDs of pods with a held worker, the longest held first */
  get held(): readonly string[] {
    return [...this.#held.keys()];
  }

  get(podUid: string): CachedStatus {
    return this.deps.inner.get(podUid);
  }

  async getNewerThan(podUid: string, minTimeMs: number, signal?: AbortSignal): Promise<CachedStatus> {
    if (this.options.isHolding) await this.#hold(podUid, minTimeMs, signal);
    const startMs = this.deps.clock.now();
    const answer = this.deps.inner.getNewerThan(podUid, minTimeMs, signal);
    if (await isSettled(answer)) return answer;
    this.#report(podUid, "goes on", `waits for a status newer than ${timeText(minTimeMs)}`);
    const found = await answer;
    const tookMs = this.deps.clock.now() - startMs;
    this.#report(podUid, "waits", `goes on after ${tookMs} ms: the cache has a newer status`);
    return found;
  }

  /** Releases the worker of a pod. @returns false when it is not held */
  release(podUid: string): boolean {
    const held = this.#held.get(podUid);
    if (held === undefined) return false;
    this.#held.delete(podUid);
    this.#report(podUid, "is held", "released by hand");
    held.release();
    return true;
  }

  async #hold(podUid: string, newerThanMs: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const released = new Promise<void>((release) => {
      this.#held.set(podUid, { release, newerThanMs });
    });
    this.#report(podUid, "goes on", `is held before GetNewerThan(${timeText(newerThanMs)})`);
    try {
      await (signal === undefined ? released : orAborted(released, signal));
    } catch (error) {
      this.#held.delete(podUid);
      throw error;
    }
  }

  #report(podUid: string, from: string, to: string): void {
    const subject = `worker of ${this.deps.podName(podUid) ?? podUid}`;
    const fact = { kind: "state", subject, what: "GetNewerThan", from, to, upstream: UPSTREAM } as const;
    this.deps.trace.emit(fact, { actor: "kubelet" });
  }
}

/** `12:01:02.345`, or `anything` for no minimum. */
export function timeText(ms: number): string {
  return Number.isFinite(ms) ? new Date(ms).toISOString().slice(11, 23) : "anything";
}

/** Whether a promise has settled, without waiting for it. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const waiting = Symbol("waiting");
  const first = await Promise.race([promise, Promise.resolve(waiting)]);
  return first !== waiting;
}
