import type { Clock } from "../../../util/clock.js";
import { remember } from "../../../util/collections/lru.js";
import { factFor } from "../../../util/release/facts.js";

/** Events are equal when all of these are equal. */
export interface EventKeys {
  /** identifies the object that the event is about */
  readonly object: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly fieldPath: string;
}

/** How to write an event. */
export type Correlated =
  | { readonly kind: "new" | "repeated"; readonly key: string; readonly message: string; readonly count: number }
  /** too many events about this object: do not write it */
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
 * Limits the number of Events: equal events are counted, similar events that differ only in their messages are combined, and
 * each object gets at most 25 at once.
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
    // The events of all containers of a pod are one group: the fieldPath only distinguishes single events.
    const group = [event.object, event.type, event.reason].join("\0");
    const isAggregated = this.#aggregate(group, event.message);
    const key = isAggregated ? group : [group, event.fieldPath, event.message].join("\0");
    const message = isAggregated ? `(combined from similar events): ${event.message}` : event.message;
    const count = (this.#counts.get(key) ?? 0) + 1;
    remember(this.#counts, key, count);
    if (!this.#accept(event.object)) return { kind: "dropped" };
    return { kind: count === 1 ? "new" : "repeated", key, message, count };
  }

  /** From the tenth different message within ten minutes on, one event represents all. Mirrors EventAggregate. */
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
    // Drop one message, as upstream does, so that the set stays at the limit.
    const [oldest = message] = aggregate.messages;
    aggregate.messages.delete(oldest);
    return true;
  }

  /** A bucket of 25 tokens, refilled with one token every five minutes. Mirrors EventSourceObjectSpamFilter. */
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
