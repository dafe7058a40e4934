import type { KubeObject } from "../../../apimachinery/api/meta.js";
import { factFor } from "../../../release/facts.js";
import type { ControllerDeps } from "../controller.js";
import { rfc3339 } from "./objects.js";
import { AS_CONTROLLER, errorText } from "./shared-deps.js";

/** What an event is about. Mirrors v1.ObjectReference; what is absent stays absent on the wire. */
export interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface EventRecorder {
  /** Never fails and never waits: what cannot be written is reported to the trace. */
  event(about: ObjectReference, type: "Normal" | "Warning", reason: string, message: string): void;
}

/** A reference to an object as it was read. Mirrors GetReference in k8s.io/client-go/tools/reference. */
export function referenceTo(object: KubeObject): ObjectReference {
  const { namespace, name, uid, resourceVersion } = object.metadata;
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    ...(namespace === undefined ? {} : { namespace }),
    name: name ?? "",
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/** The last time an event was seen: how the next one like it finds the object to count up. */
interface Seen {
  readonly name: string;
  readonly namespace: string;
  readonly count: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Messages that came lately for one object and reason. */
interface Similar {
  readonly messages: Set<string>;
  lastMs: number;
}

type RecorderDeps = Pick<ControllerDeps, "client" | "clock" | "trace" | "kubeVersion">;

/** What the recorder remembers is forgotten, oldest first, beyond so many keys. Mirrors maxLruCacheEntries. */
const MAX_REMEMBERED = 4096;

/**
 * Writes Event objects for one component: the same event again counts up the first one, ten similar ones within ten
 * minutes become one, and an object gets at most 25 at once and one more every five minutes.
 *
 * Mirrors k8s.io/client-go/tools/record/event.go (recordToSink) and events_cache.go (EventCorrelator).
 * Differs: events are written in the order they were recorded, one after another.
 */
export class Recorder implements EventRecorder {
  readonly #deps: RecorderDeps;
  readonly #component: string;
  readonly #seen = new Map<string, Seen>();
  readonly #similar = new Map<string, Similar>();
  readonly #buckets = new Map<string, Bucket>();
  #lastNanos = 0n;
  #writing: Promise<void> = Promise.resolve();

  constructor(deps: RecorderDeps, component: string) {
    this.#deps = deps;
    this.#component = component;
  }

  /** Resolves when everything recorded so far was written or given up. */
  flush(): Promise<void> {
    return this.#writing;
  }

  event(about: ObjectReference, type: "Normal" | "Warning", reason: string, message: string): void {
    const { trace } = this.#deps;
    trace.emit({ kind: "event", type, reason, message, object: `${about.kind}/${about.name}` }, AS_CONTROLLER);
    const object = JSON.stringify([about.kind, about.namespace, about.name, about.uid, about.apiVersion]);
    const nowMs = this.#deps.clock.now();
    if (!this.#withinBudget(object, nowMs)) return;
    const group = JSON.stringify([object, type, reason]);
    const isOneOfMany = this.#countSimilar(group, message, nowMs);
    const text = isOneOfMany ? `(combined from similar events): ${message}` : message;
    const key = isOneOfMany ? group : JSON.stringify([group, message]);
    this.#writing = this.#writing
      .then(() => this.#write(key, about, type, reason, text, nowMs))
      .catch((error) => {
        trace.emit({ kind: "error", message: `event ${reason} was not written: ${errorText(error)}` }, AS_CONTROLLER);
      });
  }

  /** Mirrors EventSourceObjectSpamFilter.Filter. */
  #withinBudget(object: string, nowMs: number): boolean {
    const { kubeVersion } = this.#deps;
    const burst = factFor("eventSpamBurst", kubeVersion);
    const bucket = this.#buckets.get(object) ?? { tokens: burst, atMs: nowMs };
    const refill = (nowMs - bucket.atMs) / factFor("eventSpamInterval", kubeVersion);
    bucket.tokens = Math.min(burst, bucket.tokens + refill);
    bucket.atMs = nowMs;
    remember(this.#buckets, object, bucket);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  /** Mirrors EventAggregator.EventAggregate. @returns true when the message drowns in ten others like it */
  #countSimilar(group: string, message: string, nowMs: number): boolean {
    const { kubeVersion } = this.#deps;
    let similar = this.#similar.get(group);
    if (similar === undefined || nowMs - similar.lastMs > factFor("eventAggregateInterval", kubeVersion)) {
      similar = { messages: new Set(), lastMs: nowMs };
    }
    similar.messages.add(message);
    similar.lastMs = nowMs;
    remember(this.#similar, group, similar);
    if (similar.messages.size < factFor("eventAggregateMaxEvents", kubeVersion)) return false;
    for (const oldest of similar.messages) {
      similar.messages.delete(oldest);
      break;
    }
    return true;
  }

  async #write(
    key: string,
    about: ObjectReference,
    type: string,
    reason: string,
    message: string,
    atMs: number,
  ): Promise<void> {
    const { client } = this.#deps;
    const seen = this.#seen.get(key);
    if (seen !== undefined) {
      const count = seen.count + 1;
      const lastTimestamp = rfc3339(atMs);
      const counted = await client.modify("events", seen.namespace, seen.name, (event) => ({
        ...event,
        count,
        lastTimestamp,
        message,
      }));
      if (counted !== undefined) {
        remember(this.#seen, key, { ...seen, count });
        return;
      }
    }
    const event = this.#make(about, type, reason, message, atMs);
    const namespace = event.metadata.namespace ?? "default";
    await client.create("events", namespace, event);
    remember(this.#seen, key, { name: event.metadata.name ?? "", namespace, count: 1 });
  }

  /** Mirrors makeEvent in event.go. Events about cluster-scoped objects live in `default`. */
  #make(about: ObjectReference, type: string, reason: string, message: string, atMs: number): KubeObject {
    const namespace = about.namespace ?? "default";
    const component = this.#component;
    const reports = factFor("eventReportingComponent", this.#deps.kubeVersion);
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${about.name}.${this.#nanos(atMs).toString(16)}`, namespace },
      involvedObject: about,
      reason,
      message,
      source: { component },
      firstTimestamp: rfc3339(atMs),
      lastTimestamp: rfc3339(atMs),
      count: 1,
      type,
      eventTime: null,
      reportingComponent: reports ? component : "",
      reportingInstance: "",
    };
  }

  /** Unix nanoseconds that never repeat: they make the name. */
  #nanos(atMs: number): bigint {
    const nanos = BigInt(Math.round(atMs)) * 1_000_000n;
    this.#lastNanos = nanos > this.#lastNanos ? nanos : this.#lastNanos + 1n;
    return this.#lastNanos;
  }
}

/** Sets, makes it the newest, and drops the oldest when there are too many. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_REMEMBERED) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    break;
  }
}
