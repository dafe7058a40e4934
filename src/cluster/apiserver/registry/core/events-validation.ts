import { isDns1123Subdomain, isQualifiedName } from "../../../../staging/apimachinery/api/names.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { sameJson } from "../../../../staging/apimachinery/same-json.js";
import { isSet } from "../../../../util/records.js";
import { timeMs } from "../rest/cells.js";
import { goValue, IMMUTABLE, invalidValue, required } from "../rest/field-errors.js";
import type { CoreEvent } from "./events-conversion.js";

/**
 * The checks of events. They read the core/v1 form, and name fields as upstream's internal type does, for both groups.
 * Mirrors pkg/apis/core/validation/events.go.
 */

const NAMESPACE_FIELD = "involvedObject.namespace";
const NAMESPACE_DIFFERS = "does not match event.namespace";
const UNSET = "needs to be unset";

const isZeroTime = (time: unknown) => timeMs(time as string | undefined) === undefined;

/** Mirrors legacyValidateEvent: all that is checked in core/v1. */
export function validateEvent(event: CoreEvent): FieldError[] {
  const namespace = event.metadata.namespace ?? "";
  const involved = event.involvedObject?.namespace ?? "";
  const errors: FieldError[] = [];
  if (!isZeroTime(event.eventTime)) {
    const isHome = namespace === "default" || namespace === "kube-system";
    if (involved === "" && !isHome) errors.push(invalidValue(NAMESPACE_FIELD, involved, NAMESPACE_DIFFERS));
    errors.push(...validateReporting(event));
  } else if (involved === "" ? namespace !== "" && namespace !== "default" : namespace !== involved) {
    errors.push(invalidValue(NAMESPACE_FIELD, involved, NAMESPACE_DIFFERS));
  }
  return [...errors, ...isDns1123Subdomain(namespace).map((one) => invalidValue("namespace", namespace, one))];
}

/** [field, most bytes] */
const REPORTING_LIMITS = [
  ["reportingInstance", 128],
  ["action", 128],
  ["reason", 128],
  ["message", 1024],
] as const;

function validateReporting(event: CoreEvent): FieldError[] {
  const errors: FieldError[] = [];
  const { reportingComponent: controller = "" } = event;
  if (controller === "") errors.push(required("reportingController"));
  errors.push(...isQualifiedName(controller).map((one) => invalidValue("reportingController", controller, one)));
  for (const [field, maxBytes] of REPORTING_LIMITS) {
    const value = event[field] ?? "";
    if (value === "" && field !== "message") errors.push(required(field));
    if (Buffer.byteLength(value) > maxBytes) {
      errors.push(invalidValue(field, "", `can have at most ${maxBytes} characters`));
    }
  }
  return errors;
}

/** Mirrors ValidateEventCreate for events.k8s.io/v1. The generic store checks the metadata. */
export function validateEventV1(event: CoreEvent): FieldError[] {
  const { type = "", source } = event;
  const errors = [...validateEvent(event), ...validateSeries(event)];
  if (isZeroTime(event.eventTime)) errors.push(required("eventTime"));
  if (type !== "Normal" && type !== "Warning") errors.push(invalidValue("type", "", `has invalid value: ${type}`));
  if (!isZeroTime(event.firstTimestamp)) errors.push(invalidValue("firstTimestamp", "", UNSET));
  if (!isZeroTime(event.lastTimestamp)) errors.push(invalidValue("lastTimestamp", "", UNSET));
  if ((event.count ?? 0) !== 0) errors.push(invalidValue("count", "", UNSET));
  if (source?.component || source?.host) errors.push(invalidValue("source", "", UNSET));
  return errors;
}

/** Mirrors validateV1EventSeries. */
function validateSeries({ series }: CoreEvent): FieldError[] {
  if (!isSet(series)) return [];
  const errors: FieldError[] = [];
  if ((series.count ?? 0) < 2) errors.push(invalidValue("series.count", "", "should be at least 2"));
  if (isZeroTime(series.lastObservedTime)) errors.push(required("series.lastObservedTime"));
  return errors;
}

/** What only a creation sets, as [name in errors, value, its text in Go]. The reason occurs twice, as upstream. */
const FIXED: readonly [field: string, value: (event: CoreEvent) => unknown, text: (value: never) => unknown][] = [
  ["involvedObject", (event) => event.involvedObject ?? {}, goReference],
  ["reason", (event) => event.reason ?? "", String],
  ["message", (event) => event.message ?? "", String],
  ["source", (event) => event.source ?? {}, goSource],
  ["firstTimestamp", (event) => event.firstTimestamp ?? undefined, goTime],
  ["lastTimestamp", (event) => event.lastTimestamp ?? undefined, goTime],
  ["count", (event) => event.count ?? 0, Number],
  ["reason", (event) => event.reason ?? "", String],
  ["type", (event) => event.type ?? "", String],
  ["eventTime", (event) => event.eventTime ?? undefined, goTime],
  ["action", (event) => event.action ?? "", String],
  ["related", (event) => event.related ?? undefined, goReference],
  ["reportingController", (event) => event.reportingComponent ?? "", String],
  ["reportingInstance", (event) => event.reportingInstance ?? "", String],
];

/** Mirrors ValidateEventUpdate for events.k8s.io/v1: besides metadata, only the series changes. */
export function validateEventV1Update(event: CoreEvent, old: CoreEvent): FieldError[] {
  const errors = validateEvent(event);
  if (!sameJson(event.series ?? undefined, old.series ?? undefined)) errors.push(...validateSeries(event));
  for (const [field, read, text] of FIXED) {
    const value = read(event);
    if (!sameJson(value, read(old))) errors.push(invalidValue(field, text(value as never), IMMUTABLE));
  }
  return errors;
}

/** Prints a core.ObjectReference as Go's %#v; nothing is a nil pointer. */
function goReference(reference: CoreEvent["related"]): unknown {
  if (!isSet(reference)) return undefined;
  const { kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath } = reference;
  const fields = { Kind: kind, Namespace: namespace, Name: name, UID: uid, APIVersion: apiVersion };
  return goStruct("core.ObjectReference", { ...fields, ResourceVersion: resourceVersion, FieldPath: fieldPath });
}

function goSource({ component, host }: NonNullable<CoreEvent["source"]>): unknown {
  return goStruct("core.EventSource", { Component: component, Host: host });
}

function goStruct(type: string, fields: Readonly<Record<string, string | undefined>>): unknown {
  const shown = Object.entries(fields).map(([name, value = ""]) => `${name}:${JSON.stringify(value)}`);
  return goValue(`${type}{${shown.join(", ")}}`);
}

/** Prints a time as Go's Time.String does in UTC: without the zeros at the end of its fraction. */
function goTime(time: string | undefined): unknown {
  const text = time === undefined ? "0001-01-01T00:00:00Z" : String(time);
  const fraction = /\.\d*[1-9]/.exec(text)?.[0] ?? "";
  return goValue(`${text.slice(0, 10)} ${text.slice(11, 19)}${fraction} +0000 UTC`);
}
