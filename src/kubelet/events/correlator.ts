import { factFor } from "../../release/facts.js";
import type { Clock } from "../../util/clock.js";

/** So many objects and events are remembered; the oldest is forgotten first. Mirrors maxLruCacheEntries. */
const MAX_CACHE_ENTRIES = 4096;

/** What tells two events apart. */
export interface EventKeys {
  /** about what, by uid */
  readonly object: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly fieldPath: string;
}

/** How an event is to be written. */
export type Correlated =
  | { readonly kind: "new" | "repeated"; readonly key: string; readonly message: string; readonly count: number }
  /** too many about this object: it is not written */
  | { readonly kind: "dropped" };

interface Aggregate {
  readonly messages: Set<string>;
  lastMs: number;
}

interface Bucket {
  tokens: number;
  refilledMs: number;
}

/**
 * Keeps the number of Events down: the same again counts up, many that differ in their words only become one, and
 * nobody gets more than 25 at once.
 *
 * Mirrors k8s.io/client-go/tools/record/events_cache.go (EventCorrelator).
 */
export class EventCorrelator {
  readonly #aggregates = new Map<string, Aggregate>();
  readonly #counts = new Map<string, number>();
  readonly #buckets = new Map<string, Bucket>();

  constructor(
    readonly clock: Clock,
    readonly kubeVersion: string,
  ) {}

  correlate(event: EventKeys): Correlated {
    // Events of all of a pod's containers are one group: which of them an event is about tells only single ones apart.
    const group = [event.object, event.type, event.reason].join("\0");
    const isAggregated = this.#aggregate(group, event.message);
    const key = isAggregated ? group : [group, event.fieldPath, event.message].join("\0");
    const message = isAggregated ? `(combined from similar events): ${event.message}` : event.message;
    const count = (this.#counts.get(key) ?? 0) + 1;
    remember(this.#counts, key, count);
    if (!this.#accept(event.object)) return { kind: "dropped" };
    return { kind: count === 1 ? "new" : "repeated", key, message, count };
  }

  /** Ten different messages within ten minutes: from then on one event stands for all. Mirrors EventAggregate. */
  #aggregate(group: string, message: string): boolean {
    const nowMs = this.clock.now();
    const intervalMs = factFor("eventAggregateInterval", this.kubeVersion);
    const known = this.#aggregates.get(group);
    const isFresh = known !== undefined && nowMs - known.lastMs <= intervalMs;
    const aggregate = isFresh ? known : { messages: new Set<string>(), lastMs: nowMs };
    aggregate.messages.add(message);
    aggregate.lastMs = nowMs;
    remember(this.#aggregates, group, aggregate);
    if (aggregate.messages.size < factFor("eventAggregateMaxEvents", this.kubeVersion)) return false;
    // One goes, as upstream's set does: it stays at the limit instead of growing.
    const [oldest = message] = aggregate.messages;
    aggregate.messages.delete(oldest);
    return true;
  }

  /** A bucket of 25, one more every five minutes. Mirrors EventSourceObjectSpamFilter. */
  #accept(object: string): boolean {
    const nowMs = this.clock.now();
    const burst = factFor("eventSpamBurst", this.kubeVersion);
    const { tokens, refilledMs } = this.#buckets.get(object) ?? { tokens: burst, refilledMs: nowMs };
    const refilled = tokens + (nowMs - refilledMs) / factFor("eventSpamInterval", this.kubeVersion);
    const available = Math.min(burst, refilled);
    remember(this.#buckets, object, { tokens: available >= 1 ? available - 1 : available, refilledMs: nowMs });
    return available >= 1;
  }
}

/** The latest last; what was not seen for longest goes when there are too many. */
export function remember<V>(cache: Map<string, V>, key: string, value: V): void {
  cache.delete(key);
  cache.set(key, value);
  if (cache.size <= MAX_CACHE_ENTRIES) return;
  const [oldest] = cache.keys();
  if (oldest !== undefined) cache.delete(oldest);
}
