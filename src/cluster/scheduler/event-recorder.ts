import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import { StatusError } from "../../staging/apimachinery/errors.js";
import { rfc3339Micro } from "../../staging/apimachinery/time.js";
import { concurrently, every } from "../../staging/apimachinery/wait.js";
import type { LocalClient } from "../../staging/client-go/dynamic/interface.js";
import { EventNames, referenceTo } from "../../staging/client-go/record/reference.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { messageOf } from "../../util/errors.js";
import { truncateMessage } from "./fit-error.js";

export interface SchedulerEvent {
  readonly about: KubeObject;
  readonly related?: KubeObject;
  readonly type: "Normal" | "Warning";
  /** `FailedScheduling` */
  readonly reason: string;
  /** the action: `Scheduling`, `Binding`, `Preempting` */
  readonly action: string;
  readonly note: string;
}

interface Series {
  readonly count: number;
  readonly lastObservedTime: string;
}

interface Known {
  readonly event: KubeObject;
  readonly namespace: string;
  series: Series | undefined;
  /** Unix ms */
  lastMs: number;
}

/** A series ends after this long without a repetition; a later equal event starts a new one. */
const FINISH_MS = 6 * 60_000;
/** A running series is written again this often, because stored events expire. */
const REFRESH_MS = 30 * 60_000;

interface RecorderDeps {
  readonly client: LocalClient;
  readonly clock: Clock;
  readonly trace: Trace;
}

/**
 * Writes events in the style of events.k8s.io: an action and a time in microseconds instead of count and source, and a
 * series for repetitions. The second equal event starts the series; later ones are only counted, and the count is
 * written when the series ends.
 *
 * Mirrors k8s.io/client-go/tools/events/event_broadcaster.go (recordToSink, finishSeries, refreshExistingEventSeries)
 * and event_recorder.go (makeEvent).
 * Differs: a series begins with count 2 in every release; v1.25 sent 1, which its own API server refused.
 */
export class SeriesRecorder {
  readonly #known = new Map<string, Known>();
  readonly #names = new EventNames("default-scheduler");
  #writing: Promise<void> = Promise.resolve();

  constructor(
    readonly deps: RecorderDeps,
    /** `default-scheduler`, `default-scheduler-<host>` */
    readonly reporter: { readonly controller: string; readonly instance: string },
  ) {}

  /** Never throws and never waits; failed writes are reported to the trace. */
  record(event: SchedulerEvent): void {
    const { about, type, reason, note } = event;
    const object = `${about.kind}/${about.metadata.name ?? ""}`;
    this.deps.trace.emit({ kind: "event", type, reason, message: note, object }, { actor: "scheduler" });
    const key = keyOf(event);
    const nowMs = this.deps.clock.now();
    const known = this.#known.get(key);
    if (known === undefined) {
      const fresh = {
        event: this.#make(event, nowMs),
        namespace: namespaceOf(event),
        series: undefined,
        lastMs: nowMs,
      };
      this.#known.set(key, fresh);
      this.#write(() => this.#create(fresh));
      return;
    }
    const isFirst = known.series === undefined;
    known.series = { count: (known.series?.count ?? 1) + 1, lastObservedTime: rfc3339Micro(nowMs) };
    known.lastMs = nowMs;
    if (isFirst) this.#write(() => this.#writeSeries(known));
  }

  /** Ends and refreshes series until `signal` aborts. */
  run(signal: AbortSignal): Promise<void> {
    return concurrently(
      signal,
      (stop) => every(this.deps, FINISH_MS, async () => this.#finish(), stop),
      (stop) => every(this.deps, REFRESH_MS, async () => this.#refresh(), stop),
    );
  }

  /** Resolves when every event recorded so far was written or dropped. */
  flush(): Promise<void> {
    return this.#writing;
  }

  #finish(): void {
    const beforeMs = this.deps.clock.now() - FINISH_MS;
    for (const [key, known] of this.#known) {
      if (known.lastMs >= beforeMs) continue;
      this.#known.delete(key);
      if (known.series !== undefined) this.#write(() => this.#writeSeries(known));
    }
  }

  #refresh(): void {
    for (const known of this.#known.values()) {
      if (known.series !== undefined) this.#write(() => this.#writeSeries(known));
    }
  }

  #write(write: () => Promise<void>): void {
    this.#writing = this.#writing.then(write).catch((error: unknown) => {
      const message = `an event was not written: ${messageOf(error)}`;
      // A refused event does not matter in a namespace that is being deleted.
      const level = error instanceof StatusError && error.code < 500 ? 3 : 0;
      this.deps.trace.emit({ kind: "error", message }, { actor: "scheduler", level });
    });
  }

  async #create({ event, namespace, series }: Known): Promise<void> {
    await this.deps.client.create("events", namespace, series === undefined ? event : { ...event, series });
  }

  async #writeSeries(known: Known): Promise<void> {
    const { event, namespace, series } = known;
    const name = event.metadata.name ?? "";
    const written = await this.deps.client.modify("events", namespace, name, (now) => ({ ...now, series }));
    if (written === undefined) await this.#create(known);
  }

  #make({ about, related, type, reason, action, note }: SchedulerEvent, nowMs: number): KubeObject {
    const { controller, instance } = this.reporter;
    const { name = "" } = about.metadata;
    return {
      kind: "Event",
      apiVersion: "v1",
      metadata: { name: this.#names.next(name, nowMs), namespace: namespaceOf({ about }) },
      involvedObject: referenceTo(about),
      reason,
      message: truncateMessage(note),
      source: {},
      firstTimestamp: null,
      lastTimestamp: null,
      type,
      eventTime: rfc3339Micro(nowMs),
      action,
      ...(related === undefined ? {} : { related: referenceTo(related) }),
      reportingComponent: controller,
      reportingInstance: instance,
    };
  }
}

/** Mirrors getKey: the key contains the object's version, but not the note. */
function keyOf({ about, related, type, reason, action }: SchedulerEvent): string {
  return JSON.stringify([
    type,
    action,
    reason,
    referenceTo(about),
    related === undefined ? null : referenceTo(related),
  ]);
}

function namespaceOf({ about }: Pick<SchedulerEvent, "about">): string {
  return about.metadata.namespace ?? "default";
}
