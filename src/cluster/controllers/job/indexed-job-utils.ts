import type { V1Container, V1PodTemplateSpec } from "@kubernetes/client-node";
import type { PodObject } from "../../../staging/apimachinery/api/objects.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { hasTrackingFinalizer, type JobObject } from "./utils.js";

/** Mirrors pkg/controller/job/indexed_job_utils.go. */

const COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index";
const COMPLETION_INDEX_ENV = "JOB_COMPLETION_INDEX";
const MAX_GENERATED_NAME_LENGTH = 58;

type PodTemplate = Wire<V1PodTemplateSpec>;

export function isIndexedJob({ spec }: JobObject): boolean {
  return spec?.completionMode === "Indexed";
}

/** The pod's completion index; undefined if it has none. Mirrors getCompletionIndex. */
export function completionIndexOf({ metadata }: PodObject): number | undefined {
  const text = metadata.annotations?.[COMPLETION_INDEX] ?? "";
  return /^\+?\d+$/.test(text) ? Number(text) : undefined;
}

/** Indexes in ascending order, as first and last of each run: `[[0, 2], [5, 5]]`. Mirrors orderedIntervals. */
export type Intervals = readonly (readonly [first: number, last: number])[];

export function totalOf(intervals: Intervals): number {
  return intervals.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

export function includesIndex(intervals: Intervals, index: number): boolean {
  return intervals.some(([first, last]) => first <= index && index <= last);
}

/** `0-2,5`; two neighbours without a dash: `3,4`. Mirrors orderedIntervals.String. */
export function intervalsText(intervals: Intervals): string {
  return intervals
    .map(([first, last]) => (first === last ? `${first}` : `${first}${last === first + 1 ? "," : "-"}${last}`))
    .join(",");
}

/** Mirrors orderedIntervals.withOrderedIndexes. */
export function withIndexes(intervals: Intervals, indexes: Iterable<number>): Intervals {
  const all = [...intervals, ...[...indexes].map((index) => [index, index] as const)];
  all.sort(([a], [b]) => a - b);
  const merged: [number, number][] = [];
  for (const [first, last] of all) {
    const previous = merged.at(-1);
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else merged.push([first, last]);
  }
  return merged;
}

/** Ignores parts that are no interval, and indexes beyond the completions. Mirrors succeededIndexesFromString. */
function parseIntervals(text: string, completions: number): Intervals {
  const intervals: (readonly [number, number])[] = [];
  for (const part of text.split(",")) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    const first = Number(match?.[1]);
    if (match === null || first >= completions) continue;
    intervals.push([first, Math.min(Number(match[2] ?? first), completions - 1)]);
  }
  return withIndexes(intervals, []);
}

/** The indexes that had succeeded before, and those that have by now. Mirrors calculateSucceededIndexes. */
export function succeededIndexes(job: JobObject, pods: readonly PodObject[]): { before: Intervals; now: Intervals } {
  const completions = job.spec?.completions ?? 0;
  const before = parseIntervals(job.status?.completedIndexes ?? "", completions);
  const fresh = pods.flatMap((pod) => {
    const index = completionIndexOf(pod);
    const isNew = pod.status?.phase === "Succeeded" && hasTrackingFinalizer(pod);
    return isNew && index !== undefined && index < completions ? [index] : [];
  });
  return { before, now: withIndexes(before, fresh) };
}

/** The lowest indexes that no pod works on and that have not succeeded. Mirrors firstPendingIndexes. */
export function firstPendingIndexes(
  activePods: readonly PodObject[],
  succeeded: Intervals,
  count: number,
  completions: number,
): number[] {
  const active = activePods.flatMap((pod) => completionIndexOf(pod) ?? []);
  const pending: number[] = [];
  let candidate = 0;
  const until = (limit: number) => {
    for (; candidate < limit && pending.length < count; candidate++) pending.push(candidate);
  };
  for (const [first, last] of withIndexes(succeeded, active)) {
    until(Math.min(first, completions));
    candidate = Math.max(candidate, last + 1);
  }
  until(completions);
  return pending;
}

/** The template for the pod with an index: annotation, host name, environment variable. */
export function indexedTemplate(jobName: string, template: PodTemplate, index: number): PodTemplate {
  const { spec, metadata } = template;
  const env = (containers: readonly Wire<V1Container>[]) => containers.map(withIndexVariable);
  return {
    ...template,
    metadata: { ...metadata, annotations: { ...metadata?.annotations, [COMPLETION_INDEX]: String(index) } },
    spec: {
      ...spec,
      hostname: `${jobName}-${index}`,
      containers: env(spec?.containers ?? []),
      ...(spec?.initContainers ? { initContainers: env(spec.initContainers) } : {}),
    },
  };
}

/** Mirrors addCompletionIndexEnvVariable. */
function withIndexVariable(container: Wire<V1Container>): Wire<V1Container> {
  const env = container.env ?? [];
  if (env.some(({ name }) => name === COMPLETION_INDEX_ENV)) return container;
  const fieldPath = `metadata.annotations['${COMPLETION_INDEX}']`;
  // The schema sets this default in templates that clients send.
  const fieldRef = { apiVersion: "v1", fieldPath };
  return { ...container, env: [...env, { name: COMPLETION_INDEX_ENV, valueFrom: { fieldRef } }] };
}

/** `job-3-`, shortened at the job's name. Mirrors podGenerateNameWithIndex. */
export function generateNameWithIndex(jobName: string, index: number): string {
  const ending = `-${index}-`;
  return `${jobName.slice(0, Math.max(MAX_GENERATED_NAME_LENGTH - ending.length, 0))}${ending}`;
}

/**
 * Finds the active pods to delete: those without a valid index, and all but one of several pods with the same index.
 * Mirrors appendDuplicatedIndexPodsForRemoval.
 */
export function groupByIndex(pods: readonly PodObject[], completions: number) {
  const invalid: PodObject[] = [];
  const byIndex = new Map<number, PodObject[]>();
  for (const pod of pods) {
    const index = completionIndexOf(pod);
    if (index === undefined || index >= completions) invalid.push(pod);
    else byIndex.set(index, [...(byIndex.get(index) ?? []), pod]);
  }
  return { invalid, byIndex };
}
