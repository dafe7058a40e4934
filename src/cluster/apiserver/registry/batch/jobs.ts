import type { V1Job } from "@kubernetes/client-node";
import { JOB_TRACKING } from "../../../../staging/apimachinery/api/job.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import { humanDuration } from "../../../../staging/apimachinery/duration.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { factFor } from "../../../../util/release/facts.js";
import { templateWarnings } from "../core/pod-template.js";
import { AGE_COLUMN, ageOf, column, containerCells, formatLabelSelector, NAME_COLUMN, timeMs } from "../rest/cells.js";
import type { Strategy, StrategyContext, TableDefinition } from "../rest/definition.js";
import { row, statusOf } from "../rest/rows.js";
import { specAndStatus } from "../rest/stored.js";
import { generatedLabels, generateSelector } from "./generate-selector.js";
import { validateJob, validateJobStatus, validateJobUpdate } from "./job-validation.js";

type JobObject = Wire<V1Job>;

const PODS_STAY =
  "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

/** Mirrors jobStrategy in pkg/registry/batch/job/strategy.go. */
const strategy: Strategy = specAndStatus({
  counted: true,
  freshStatus: () => ({}),
  strategy: {
    prepareForCreate(sent: JobObject, { kubeVersion }) {
      const job = generateSelector(withoutFailurePolicy(sent, kubeVersion), kubeVersion);
      const annotations = { ...job.metadata.annotations, [JOB_TRACKING]: "" };
      return { ...job, metadata: { ...job.metadata, annotations } };
    },
    validate: (job: JobObject, { kubeVersion }) => validateJob(job, generatedLabels(job, kubeVersion)),
    prepareForUpdate(sent: JobObject, old: JobObject, { kubeVersion }) {
      return old.spec?.podFailurePolicy ? sent : withoutFailurePolicy(sent, kubeVersion);
    },
    validateUpdate: (job: JobObject, old: JobObject, { kubeVersion }: StrategyContext) => [
      ...validateJob(job, generatedLabels(old, kubeVersion), old),
      ...validateJobUpdate(job, old),
    ],
    ...templateWarnings("spec.template", (job: JobObject) => job.spec?.template, { isNameInPods: true }),
    defaultGarbageCollection: { policy: "Orphan", warning: PODS_STAY },
  },
});

/** Drops the field in releases where its feature is off. */
function withoutFailurePolicy(job: JobObject, kubeVersion: string): JobObject {
  if (!job.spec?.podFailurePolicy || factFor("jobPodFailurePolicy", kubeVersion)) return job;
  const { podFailurePolicy: _dropped, ...spec } = job.spec;
  return { ...job, spec };
}

/** `2/3`; `1/1 of 4` for jobs that end with the first success. */
function completionsCell({ spec, status }: JobObject): string {
  const succeeded = status?.succeeded ?? 0;
  if (typeof spec?.completions === "number") return `${succeeded}/${spec.completions}`;
  const parallelism = spec?.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationCell({ status }: JobObject, nowMs: number): string {
  const startMs = timeMs(status?.startTime);
  return startMs === undefined ? "" : humanDuration((timeMs(status?.completionTime) ?? nowMs) - startMs);
}

/** Mirrors printJob. */
const TABLE: TableDefinition = {
  columns: [
    NAME_COLUMN,
    column("Completions", "The number of pods that ended with success, of those wanted."),
    column("Duration", "Time required to complete the job."),
    AGE_COLUMN,
    column("Containers", "Names of each container in the template.", { wide: true }),
    column("Images", "Images referenced by each container in the template.", { wide: true }),
    column("Selector", "The selector of its pods.", { wide: true }),
  ],
  cells: (job: JobObject, nowMs) => [
    nameOf(job),
    completionsCell(job),
    durationCell(job, nowMs),
    ageOf(job, nowMs),
    ...containerCells(job.spec?.template),
    formatLabelSelector(job.spec?.selector),
  ],
};

export const JOBS = row("batch/v1", "Job", "jobs", strategy, {
  categories: ["all"],
  table: TABLE,
  selectableFields: ({ status }: JobObject) => ({ "status.successful": String(status?.succeeded ?? 0) }),
  subresources: [
    statusOf({
      prepareForUpdate: (job: JobObject, old: JobObject) => ({ ...job, spec: old.spec }) as JobObject,
      validateUpdate: validateJobStatus,
    }),
  ],
});
