import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { isPathSegmentName } from "../../../../staging/apimachinery/api/names.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import { factFor } from "../../../../util/release/facts.js";
import { column, NAME_COLUMN, since, timeMs } from "../rest/cells.js";
import type { Strategy, TableDefinition } from "../rest/definition.js";
import { row } from "../rest/rows.js";
import { asCoreEvent, type CoreEvent, fromCoreEvent, toCoreEvent } from "./events-conversion.js";
import { validateEvent, validateEventV1, validateEventV1Update } from "./events-validation.js";

/** One storage, two views: `v1` Event, which is stored, and `events.k8s.io/v1` Event, which has other field names. */

const WRITES = { allowCreateOnUpdate: true, allowUnconditionalUpdate: true } as const;

/** Mirrors eventStrategy in pkg/registry/core/event/strategy.go. */
const strategy: Strategy = {
  ...WRITES,
  validateName: isPathSegmentName,
  validate: validateEvent,
  validateUpdate: validateEvent,
};

/** The same for requests to events.k8s.io/v1, which are checked strictly. */
const strategyV1: Strategy = {
  ...WRITES,
  validate: (event) => validateEventV1(asCoreEvent(event)),
  validateUpdate: (event, old) => validateEventV1Update(asCoreEvent(event), asCoreEvent(old)),
};

function selectableFields(event: CoreEvent): Record<string, string> {
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
function sourceCell({ source, reportingComponent, reportingInstance }: CoreEvent): string {
  const component = source?.component || reportingComponent || "";
  const instance = source?.host || reportingInstance || "";
  return instance === "" ? component : `${component}, ${instance}`;
}

/** Mirrors printEvent in pkg/printers/internalversion/printers.go. */
function eventCells(event: CoreEvent, nowMs: number): unknown[] {
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

/** Mirrors pkg/apis/events/v1/conversion.go (AddFieldLabelConversionsForEvent). */
function selectableFieldsV1(event: KubeObject): Record<string, string> {
  const { reportingComponent = "", ...core } = selectableFields(asCoreEvent(event));
  const fields = Object.entries(core).map(([key, value]) => [key.replace(/^involvedObject\./, "regarding."), value]);
  return { ...Object.fromEntries(fields), reportingController: reportingComponent };
}

export const EVENTS_V1 = row("events.k8s.io/v1", "Event", "events", strategyV1, {
  shortNames: ["ev"],
  schema: "events.Event",
  storageVersion: "v1",
  storedAs: { resource: "events", toStored: toCoreEvent, fromStored: fromCoreEvent },
  selectableFields: selectableFieldsV1,
  table: {
    columns: COLUMNS,
    cells: (event, nowMs) => eventCells(asCoreEvent(event), nowMs),
  },
});
