import type { V1LabelSelector, V1PodTemplateSpec } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { humanDuration } from "../../../../staging/apimachinery/duration.js";
import { selectorText } from "../../../../staging/apimachinery/selector.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import type { TableColumn } from "./definition.js";

/** Columns and cells that many kinds share. Mirrors pkg/printers/internalversion/printers.go. */

export const NONE = "<none>";
export const UNKNOWN = "<unknown>";

export function column(
  name: string,
  description: string,
  options: { readonly type?: TableColumn["type"]; readonly format?: string; readonly wide?: boolean } = {},
): TableColumn {
  return {
    name,
    type: options.type ?? "string",
    format: options.format ?? "",
    description,
    priority: options.wide === true ? 1 : 0,
  };
}

export const NAME_COLUMN = column("Name", "The object's name, unique among its kind in its namespace.", {
  format: "name",
});

export const AGE_COLUMN = column("Age", "How long ago the server created the object.");

export function ageOf(object: KubeObject, nowMs: number): string {
  return since(object.metadata.creationTimestamp, nowMs);
}

/** `<unknown>` for an unset time. Mirrors translateTimestampSince and translateMicroTimestampSince. */
export function since(time: unknown, nowMs: number): string {
  const thenMs = timeMs(time);
  return thenMs === undefined ? UNKNOWN : humanDuration(nowMs - thenMs);
}

/** @returns Unix ms; undefined for an absent, null or zero time */
export function timeMs(time: unknown): number | undefined {
  if (typeof time !== "string" || time === "" || time.startsWith("0001-")) return undefined;
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? undefined : ms;
}

/** `<none>` for an empty text. */
export function orNone(value: string): string {
  return value === "" ? NONE : value;
}

export function countOf(value: readonly unknown[] | Readonly<Record<string, unknown>> | null | undefined): number {
  return Array.isArray(value) ? value.length : Object.keys(value ?? {}).length;
}

/** `a=b,c=d`, or `<none>`. Mirrors labels.FormatLabels: keys are sorted. */
export function formatLabels(labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return orNone(pairs.sort().join(","));
}

/** A label selector as one line. Mirrors metav1.FormatLabelSelector. */
export function formatLabelSelector(selector: Wire<V1LabelSelector> = {}): string {
  return orNone(selectorText(selector));
}

/** Container names and images, each joined by commas, of a pod template. Mirrors layoutContainerCells. */
export function containerCells(template: Wire<V1PodTemplateSpec> | undefined): [string, string] {
  const containers = template?.spec?.containers ?? [];
  return [containers.map(({ name }) => name).join(","), containers.map(({ image = "" }) => image).join(",")];
}
