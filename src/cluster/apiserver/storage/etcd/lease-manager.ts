import type { EtcdClient } from "./client.js";
import { LEASE_GRANT } from "./rpcs.js";

/** The share of its time to live for which a lease is reused, and its limit. Mirrors NewDefaultLeaseManagerConfig. */
const REUSE_SHARE = 0.05;
const MAX_REUSE_SECONDS = 60;
/** Mirrors defaultLeaseMaxObjectCount. */
const MAX_OBJECTS = 1000;

/**
 * Leases after whose end etcd deletes the keys that were written with them. Keys of about the same end share a lease.
 * Mirrors k8s.io/apiserver/pkg/storage/etcd3/lease_manager.go.
 */
export class LeaseManager {
  #lease: Promise<bigint> | undefined;
  #endMs = 0;
  #objects = 0;

  constructor(
    readonly client: EtcdClient,
    readonly timeoutMs: number,
  ) {}

  /** A lease that lasts at least `ttlSeconds` from now. @throws EtcdError */
  leaseFor(ttlSeconds: number): Promise<bigint> {
    const nowMs = this.client.clock.now();
    const reuseSeconds = Math.min(Math.floor(ttlSeconds * REUSE_SHARE), MAX_REUSE_SECONDS);
    const isLongEnough = nowMs + ttlSeconds * 1000 < this.#endMs;
    const isShortEnough = nowMs + (ttlSeconds + reuseSeconds) * 1000 >= this.#endMs;
    if (this.#lease !== undefined && isLongEnough && isShortEnough && ++this.#objects <= MAX_OBJECTS)
      return this.#lease;
    const seconds = ttlSeconds + reuseSeconds;
    const granted = this.#grant(seconds);
    this.#lease = granted;
    this.#endMs = nowMs + seconds * 1000;
    this.#objects = 1;
    granted.catch(() => {
      if (this.#lease === granted) this.#lease = undefined;
    });
    return granted;
  }

  /** The lease is gone. */
  clear(): void {
    this.#lease = undefined;
  }

  async #grant(seconds: number): Promise<bigint> {
    return (await this.client.call(LEASE_GRANT, { ttl: seconds }, this)).id;
  }
}
