import type { CoreV1Event, EventsV1Event } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { defined } from "../../../../util/defined.js";

/** The core/v1 and events.k8s.io/v1 forms of an event. Both list the fields, empty ones too, in Go's order. */

export type CoreEvent = Wire<CoreV1Event>;
type EventV1 = Wire<EventsV1Event>;

const orUndefined = (text: string | undefined) => (text === "" ? undefined : text);
const orNull = <T>(time: T | null | undefined): T | null => time ?? null;

/** Shows a stored event as events.k8s.io/v1. Mirrors pkg/apis/events/v1/conversion.go (Convert_core_Event_To_v1_Event). */
export function fromCoreEvent(stored: KubeObject): KubeObject {
  const { kind, metadata, series, ...core } = stored as CoreEvent;
  return defined({
    kind,
    apiVersion: "events.k8s.io/v1",
    metadata,
    eventTime: orNull(core.eventTime),
    series: series && { count: series.count ?? 0, lastObservedTime: orNull(series.lastObservedTime) },
    reportingController: orUndefined(core.reportingComponent),
    reportingInstance: orUndefined(core.reportingInstance),
    action: core.action,
    reason: core.reason,
    regarding: core.involvedObject ?? {},
    related: core.related,
    note: core.message,
    type: core.type,
    deprecatedSource: core.source ?? {},
    deprecatedFirstTimestamp: orNull(core.firstTimestamp),
    deprecatedLastTimestamp: orNull(core.lastTimestamp),
    deprecatedCount: core.count,
  }) as KubeObject;
}

/** Returns the stored form of an events.k8s.io/v1 event. Mirrors Convert_v1_Event_To_core_Event. */
export function toCoreEvent(shown: KubeObject): CoreEvent {
  const { kind, metadata, series, ...event } = shown as EventV1;
  return defined({
    kind,
    apiVersion: "v1",
    metadata,
    involvedObject: event.regarding ?? {},
    reason: event.reason,
    message: event.note,
    source: event.deprecatedSource ?? {},
    firstTimestamp: orNull(event.deprecatedFirstTimestamp),
    lastTimestamp: orNull(event.deprecatedLastTimestamp),
    count: event.deprecatedCount,
    type: event.type,
    eventTime: orNull(event.eventTime),
    series: series && defined({ count: series.count || undefined, lastObservedTime: orNull(series.lastObservedTime) }),
    action: event.action,
    related: event.related,
    reportingComponent: event.reportingController ?? "",
    reportingInstance: event.reportingInstance ?? "",
  }) as unknown as CoreEvent;
}

/** Returns the core/v1 form of an event of either version. */
export function asCoreEvent(event: KubeObject): CoreEvent {
  return event.apiVersion === "events.k8s.io/v1" ? toCoreEvent(event) : (event as CoreEvent);
}
