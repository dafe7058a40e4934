import type { Clock } from "../../../util/clock.js";
import { remember } from "../../../util/collections/lru.js";
import { LabError } from "../../../util/errors.js";
import type { Random } from "../../../util/random.js";
import { factFor } from "../../../util/release/facts.js";
import type { KubeObject } from "../../apimachinery/api/meta.js";
import { rfc3339 } from "../../apimachinery/time.js";
import { type Correlated, EventCorrelator } from "./correlator.js";
import { EventNames, type ObjectReference } from "./reference.js";

export type EventType = "Normal" | "Warning";

/** The function that callers of a recorder know. */
export const EVENTF = { file: "staging/src/k8s.io/client-go/tools/record/event.go", func: "Eventf" };

type Annotations = Readonly<Record<string, string>>;

export interface EventRecorder {
  /** Never throws and never waits. Mirrors recorderImpl.Event and AnnotatedEventf. */
  event(about: ObjectReference, type: EventType, reason: string, message: string, annotations?: Annotations): void;
}

/** The fields of an event that a repetition changes. */
export interface EventPatch {
  readonly count: number;
  readonly lastTimestamp: string;
  readonly message: string;
}

/** Where events are written. Mirrors EventSink in event.go. */
export interface EventSink {
  /** @returns whether the event was stored */
  create(namespace: string, event: KubeObject): Promise<boolean>;
  /** @returns false when the event does not exist any more */
  patch(namespace: string, name: string, patch: EventPatch): Promise<boolean>;
}

/** How events are retried. */
export interface EventRetry {
  readonly random: Random;
  /** its abort ends the retries */
  readonly signal: AbortSignal;
}

export interface RecorderDeps {
  readonly clock: Clock;
  readonly sink: EventSink;
  /** delays each write; default: no delay */
  readonly pace?: { turn(): Promise<void> };
  /** retries while the API server is unreachable; default: no retries, for a sink in this process */
  readonly retry?: EventRetry;
  /** the sink's error; the event is lost */
  onError(error: unknown, reason: string): void;
}

export interface RecorderOptions {
  /** `{ component: "kubelet", host: "n1" }` */
  readonly source: { readonly component: string; readonly host?: string };
  readonly kubeVersion: string;
}

/** More events than this waiting to be written are dropped. Mirrors maxQueuedEvents. */
const MAX_QUEUED_EVENTS = 1_000;

interface Written {
  readonly name: string;
  readonly firstTimestamp: string;
}

type NewEvent = Omit<Exclude<Correlated, { kind: "dropped" }>, "kind"> & {
  readonly about: ObjectReference;
  readonly type: EventType;
  readonly reason: string;
  readonly annotations: Annotations;
  readonly nowMs: number;
};

/**
 * Writes Event objects for one component, in the background and in order.
 *
 * Mirrors k8s.io/client-go/tools/record/event.go (recorderImpl, recordToSink, recordEvent).
 */
export class Recorder implements EventRecorder {
  readonly #correlator: EventCorrelator;
  readonly #names: EventNames;
  readonly #written = new Map<string, Written>();
  #tail: Promise<void> = Promise.resolve();
  #queued = 0;

  constructor(
    readonly deps: RecorderDeps,
    readonly options: RecorderOptions,
  ) {
    this.#correlator = new EventCorrelator(deps.clock, options.kubeVersion);
    this.#names = new EventNames(`${options.source.component} ${options.source.host ?? ""}`);
  }

  event(about: ObjectReference, type: EventType, reason: string, message: string, annotations: Annotations = {}): void {
    const { kind, namespace, name, uid, apiVersion, fieldPath = "" } = about;
    const object = [kind, namespace, name, uid, apiVersion].join("\0");
    const correlated = this.#correlator.correlate({ object, type, reason, message, fieldPath });
    if (correlated.kind === "dropped" || this.#queued >= MAX_QUEUED_EVENTS) return;
    const event = { ...correlated, about, type, reason, annotations, nowMs: this.deps.clock.now() };
    this.#queued++;
    this.#tail = this.#tail.then(async () => {
      await this.deps.pace?.turn();
      await this.#record(event).catch((error: unknown) => this.deps.onError(error, reason));
      this.#queued--;
    });
  }

  /** Resolves when every event up to now was written or dropped. */
  flush(): Promise<void> {
    return this.#tail;
  }

  /**
   * Retries an event until the API server answers, even with a refusal. Later events wait for it.
   * Mirrors recordToSink: the first wait is random, so that clients do not return together.
   */
  async #record(event: NewEvent): Promise<void> {
    const { retry, clock } = this.deps;
    const maxTries = factFor("eventMaxTries", this.options.kubeVersion);
    const intervalMs = factFor("eventRetryInterval", this.options.kubeVersion);
    for (let tries = 1; ; tries++) {
      try {
        return await this.#write(event);
      } catch (error) {
        const isUnreachable = error instanceof LabError && error.code === "CLUSTER_UNREACHABLE";
        if (!isUnreachable || retry === undefined || retry.signal.aborted || tries >= maxTries) throw error;
        await clock.sleep(tries === 1 ? intervalMs * retry.random.float() : intervalMs, retry.signal);
      }
    }
  }

  /** Mirrors recordEvent: an event that expired is created again with its name and first time. */
  async #write(event: NewEvent): Promise<void> {
    const { sink } = this.deps;
    const { key, count, message, about, nowMs } = event;
    // Events about cluster-scoped objects live in `default`.
    const namespace = about.namespace ?? "default";
    const lastTimestamp = rfc3339(nowMs);
    const before = this.#written.get(key);
    if (before !== undefined && (await sink.patch(namespace, before.name, { count, lastTimestamp, message }))) return;
    const written = before ?? { name: this.#names.next(about.name, nowMs), firstTimestamp: lastTimestamp };
    if (await sink.create(namespace, this.#make(event, written))) remember(this.#written, key, written);
  }

  /** Mirrors makeEvent. */
  #make(
    { about, type, reason, message, annotations, count, nowMs }: NewEvent,
    { name, firstTimestamp }: Written,
  ): KubeObject {
    const { source, kubeVersion } = this.options;
    const isReporting = factFor("eventReportingComponent", kubeVersion);
    return {
      kind: "Event",
      apiVersion: "v1",
      metadata: {
        name,
        namespace: about.namespace ?? "default",
        ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      },
      involvedObject: about,
      reason,
      message,
      source,
      firstTimestamp,
      lastTimestamp: rfc3339(nowMs),
      count,
      type,
      eventTime: null,
      reportingComponent: isReporting ? source.component : "",
      reportingInstance: isReporting ? (source.host ?? "") : "",
    };
  }
}
