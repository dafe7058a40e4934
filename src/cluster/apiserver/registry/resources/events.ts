import type { CoreV1Event } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { isDns1123Subdomain, isQualifiedName } from "../../../../staging/apimachinery/api/names.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { factFor } from "../../../../util/release/facts.js";
import type { Strategy, TableDefinition } from "../definition.js";
import { column, NAME_COLUMN, nameOf, since, timeMs } from "./cells.js";
import { invalidValue, required } from "./field-errors.js";
import { row } from "./rows.js";

/** One storage, two views: `v1` Event, which is stored, and `events.k8s.io/v1` Event, which has other field names. */

const NAMESPACE_FIELD = "involvedObject.namespace";
const NAMESPACE_DIFFERS = "does not match event.namespace";

/** Mirrors legacyValidateEvent in pkg/apis/core/validation/events.go. */
function validateEvent(event: Wire<CoreV1Event>): FieldError[] {
  const namespace = event.metadata.namespace ?? "";
  const involved = event.involvedObject?.namespace ?? "";
  const isNewStyle = timeMs(event.eventTime) !== undefined;
  const errors: FieldError[] = [];
  if (isNewStyle) {
    const isHome = namespace === "default" || namespace === "kube-system";
    if (involved === "" && !isHome) errors.push(invalidValue(NAMESPACE_FIELD, involved, NAMESPACE_DIFFERS));
    errors.push(...validateReporting(event));
  } else if (involved === "" ? namespace !== "" && namespace !== "default" : namespace !== involved) {
    errors.push(invalidValue(NAMESPACE_FIELD, involved, NAMESPACE_DIFFERS));
  }
  return [...errors, ...isDns1123Subdomain(namespace).map((one) => invalidValue("namespace", namespace, one))];
}

const REPORTING_LIMITS = [
  ["reportingInstance", 128],
  ["action", 128],
  ["reason", 128],
  ["message", 1024],
] as const;

function validateReporting(event: Wire<CoreV1Event>): FieldError[] {
  const errors: FieldError[] = [];
  const { reportingComponent: component = "" } = event;
  if (component === "") errors.push(required("reportingComponent"));
  errors.push(...isQualifiedName(component).map((one) => invalidValue("reportingComponent", component, one)));
  for (const [field, maxLength] of REPORTING_LIMITS) {
    const value = event[field] ?? "";
    if (value === "" && field !== "message") errors.push(required(field));
    if (value.length > maxLength) errors.push(invalidValue(field, "", `can have at most ${maxLength} characters`));
  }
  return errors;
}

const strategy: Strategy = {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  validate: validateEvent,
  validateUpdate: validateEvent,
};

function selectableFields(event: Wire<CoreV1Event>): Record<string, string> {
  const { involvedObject: involved, reportingComponent = "" } = event;
  return {
    "involvedObject.kind": involved?.kind ?? "",
    "involvedObject.namespace": involved?.namespace ?? "",
    "involvedObject.name": involved?.name ?? "",
    "involvedObject.uid": involved?.uid ?? "",
    "involvedObject.apiVersion": involved?.apiVersion ?? "",
    "involvedObject.resourceVersion": involved?.resourceVersion ?? "",
    "involvedObject.fieldPath": involved?.fieldPath ?? "",
    reason: event.reason ?? "",
    reportingComponent,
    source: event.source?.component || reportingComponent,
    type: event.type ?? "",
  };
}

/** Mirrors formatEventSource in pkg/printers/internalversion/printers.go. */
function sourceCell({ source, reportingComponent, reportingInstance }: Wire<CoreV1Event>): string {
  const component = source?.component || reportingComponent || "";
  const instance = source?.host || reportingInstance || "";
  return instance === "" ? component : `${component}, ${instance}`;
}

/** Mirrors printEvent in pkg/printers/internalversion/printers.go. */
function eventCells(event: Wire<CoreV1Event>, nowMs: number): unknown[] {
  const first = timeMs(event.firstTimestamp) === undefined ? event.eventTime : event.firstTimestamp;
  let last = timeMs(event.lastTimestamp) === undefined ? first : event.lastTimestamp;
  let count = event.count ?? 0;
  if (event.series) {
    last = event.series.lastObservedTime;
    count = event.series.count ?? 0;
  } else if (count === 0) {
    count = 1;
  }
  const { kind = "", name = "", fieldPath = "" } = event.involvedObject ?? {};
  return [
    since(last, nowMs),
    event.type ?? "",
    event.reason ?? "",
    name === "" ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`,
    fieldPath,
    sourceCell(event),
    (event.message ?? "").trim(),
    since(first, nowMs),
    count,
    nameOf(event),
  ];
}

const COLUMNS: TableDefinition["columns"] = [
  column("Last Seen", "The time at which the most recent occurrence of this event was recorded."),
  column("Type", "Type of this event (Normal, Warning), new types could be added in the future"),
  column("Reason", "The reason, in one word for programs."),
  column("Object", "The object that this event is about."),
  column("Subobject", "Which part of the object it is about, as a field path.", { wide: true }),
  column("Source", "The component that reports it.", { wide: true }),
  column("Message", "A human-readable description of the status of this operation."),
  column("First Seen", "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)", {
    wide: true,
  }),
  column("Count", "The number of times this event has occurred.", { wide: true }),
  { ...NAME_COLUMN, priority: 1 },
];

export const EVENTS = row("v1", "Event", "events", strategy, {
  shortNames: ["ev"],
  selectableFields,
  table: { columns: COLUMNS, cells: eventCells },
  timeToLiveMs: (kubeVersion) => factFor("eventTtl", kubeVersion),
});

/** [name in events.k8s.io/v1, name in v1] of the fields that differ. Mirrors pkg/apis/events/v1/conversion.go. */
const RENAMED = [
  ["regarding", "involvedObject"],
  ["note", "message"],
  ["reportingController", "reportingComponent"],
  ["deprecatedSource", "source"],
  ["deprecatedFirstTimestamp", "firstTimestamp"],
  ["deprecatedLastTimestamp", "lastTimestamp"],
  ["deprecatedCount", "count"],
] as const;

const TO_STORED: ReadonlyMap<string, string> = new Map(RENAMED);
const FROM_STORED: ReadonlyMap<string, string> = new Map(RENAMED.map(([view, stored]) => [stored, view]));

function renamed<T extends KubeObject>(event: KubeObject, names: ReadonlyMap<string, string>, apiVersion: string): T {
  const entries = Object.entries(event).map(([key, value]) => [names.get(key) ?? key, value]);
  return { ...(Object.fromEntries(entries) as T), apiVersion };
}

/** A core event as events.k8s.io/v1 shows it. */
function fromCoreEvent(event: KubeObject): KubeObject {
  return renamed(event, FROM_STORED, "events.k8s.io/v1");
}

/** An event of events.k8s.io/v1 as it is stored. */
function toCoreEvent(event: KubeObject): Wire<CoreV1Event> {
  return renamed(event, TO_STORED, "v1");
}

/** The store passes events of both versions. */
function asCoreEvent(event: KubeObject): Wire<CoreV1Event> {
  return event.apiVersion === "v1" ? (event as Wire<CoreV1Event>) : toCoreEvent(event);
}

const REGARDING_LABELS: Readonly<Record<string, string>> = { reportingComponent: "reportingController" };

export const EVENTS_V1 = row("events.k8s.io/v1", "Event", "events", strategy, {
  shortNames: ["ev"],
  schema: "events.Event",
  storageVersion: "v1",
  storedAs: { resource: "events", toStored: toCoreEvent, fromStored: fromCoreEvent },
  // Both spellings, because the store matches either the stored object or the view.
  selectableFields(event) {
    const core = selectableFields(asCoreEvent(event));
    const regarding = Object.entries(core).map(([key, value]) => [
      REGARDING_LABELS[key] ?? key.replace(/^involvedObject\./, "regarding."),
      value,
    ]);
    return { ...core, ...Object.fromEntries(regarding) };
  },
  table: {
    columns: COLUMNS,
    cells: (event, nowMs) => eventCells(asCoreEvent(event), nowMs),
  },
});
