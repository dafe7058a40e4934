import { currentScope, type Scope } from "../../../../trace/scope.js";

/** Grants one action per `1000 / qps` ms. Mirrors flowcontrol.NewTokenBucketRateLimiter with a burst of 1. */
class TokenBucket {
  #freeAtMs = Number.NEGATIVE_INFINITY;

  /** @param qps 0: grants nothing (NewFakeNeverRateLimiter) */
  constructor(readonly qps: number) {}

  tryAccept(nowMs: number): boolean {
    if (this.qps <= 0 || nowMs < this.#freeAtMs) return false;
    this.#freeAtMs = nowMs + 1000 / this.qps;
    return true;
  }

  /** The time of the next grant, Unix ms; undefined: never. */
  get nextMs(): number | undefined {
    return this.qps <= 0 ? undefined : this.#freeAtMs;
  }
}

interface WaitingNode {
  readonly nodeName: string;
  /** earliest time, Unix ms */
  readonly notBeforeMs: number;
  /** why the node was queued */
  readonly scope: Scope | undefined;
}

/**
 * Nodes of one zone that wait for their NoExecute taint, released at a limited rate. A released node stays known: it is
 * not queued again until it is removed.
 *
 * Mirrors pkg/controller/nodelifecycle/scheduler/rate_limited_queue.go (RateLimitedTimedQueue).
 */
export class RateLimitedQueue {
  #limiter: TokenBucket;
  readonly #known = new Set<string>();
  /** by node name, oldest first */
  readonly #waiting = new Map<string, WaitingNode>();

  constructor(qps: number) {
    this.#limiter = new TokenBucket(qps);
  }

  get qps(): number {
    return this.#limiter.qps;
  }

  /** @returns false if the node is known already */
  add(nodeName: string, nowMs: number): boolean {
    if (this.#known.has(nodeName)) return false;
    this.#known.add(nodeName);
    this.#waiting.set(nodeName, { nodeName, notBeforeMs: nowMs, scope: currentScope() });
    return true;
  }

  /** @returns whether the node was known */
  remove(nodeName: string): boolean {
    this.#waiting.delete(nodeName);
    return this.#known.delete(nodeName);
  }

  /** A new limiter starts without a token if the old one has none. Mirrors SwapLimiter. */
  swapLimiter(qps: number, nowMs: number): void {
    if (this.#limiter.qps === qps) return;
    const limiter = new TokenBucket(qps);
    if (!this.#limiter.tryAccept(nowMs)) limiter.tryAccept(nowMs);
    this.#limiter = limiter;
  }

  /** When `take` can return a node, Unix ms; undefined: no node waits, or the limiter never grants. */
  nextMs(): number | undefined {
    const grantMs = this.#limiter.nextMs;
    const head = this.#head();
    if (head === undefined || grantMs === undefined) return undefined;
    return Math.max(head.notBeforeMs, grantMs);
  }

  /** Takes the next node that can be tainted now; the caller must call `settle` for it. */
  take(nowMs: number): WaitingNode | undefined {
    const head = this.#head();
    if (head === undefined || head.notBeforeMs > nowMs || !this.#limiter.tryAccept(nowMs)) return undefined;
    return head;
  }

  /** @param retryAtMs undefined: done. Otherwise the node waits again, at least until then. */
  settle(nodeName: string, retryAtMs?: number): void {
    const node = this.#waiting.get(nodeName);
    if (node === undefined) return;
    if (retryAtMs === undefined) this.#waiting.delete(nodeName);
    else this.#waiting.set(nodeName, { ...node, notBeforeMs: retryAtMs });
  }

  #head(): WaitingNode | undefined {
    let head: WaitingNode | undefined;
    for (const node of this.#waiting.values()) {
      if (head === undefined || node.notBeforeMs < head.notBeforeMs) head = node;
    }
    return head;
  }
}
