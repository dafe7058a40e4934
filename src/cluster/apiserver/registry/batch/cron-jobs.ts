import type { V1CronJob } from "@kubernetes/client-node";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { parseStandard } from "../../../../staging/cron/parse.js";
import { isTimeZone } from "../../../../staging/cron/time-zone.js";
import { isSet } from "../../../../util/records.js";
import { templateWarnings } from "../core/pod-template.js";
import {
  AGE_COLUMN,
  ageOf,
  column,
  containerCells,
  countOf,
  formatLabelSelector,
  NAME_COLUMN,
  NONE,
  since,
} from "../rest/cells.js";
import type { Strategy, TableDefinition } from "../rest/definition.js";
import { invalidValue, nonNegative, notSupported, required } from "../rest/field-errors.js";
import { row, statusOf } from "../rest/rows.js";
import { specAndStatus } from "../rest/stored.js";
import { validateJobTemplateSpec } from "./job-validation.js";

type CronJobObject = Wire<V1CronJob>;

const CONCURRENCY_POLICIES = ["Allow", "Forbid", "Replace"];
/** The controller appends `-` and ten digits to the name; a job's name is a label value. */
const MAX_NAME_LENGTH = 52;

/** Mirrors ValidateCronJobCreate in pkg/apis/batch/validation/validation.go. */
function validateCreate(cronJob: CronJobObject): FieldError[] {
  const { name = "" } = cronJob.metadata;
  const errors = validateCronJob(cronJob);
  if (name.length > MAX_NAME_LENGTH) {
    errors.push(invalidValue("metadata.name", name, `must be no more than ${MAX_NAME_LENGTH} characters`));
  }
  return errors;
}

/** Mirrors validateCronJobSpec. The time zone is only checked when it is new. */
function validateCronJob({ spec }: CronJobObject, old?: CronJobObject): FieldError[] {
  const { schedule = "", timeZone, concurrencyPolicy = "" } = spec ?? {};
  const isNewZone = old === undefined || (old.spec?.timeZone ?? undefined) !== (timeZone ?? undefined);
  return [
    ...(schedule === "" ? [required("spec.schedule")] : validateSchedule(schedule, isSet(timeZone))),
    ...nonNegative("spec.startingDeadlineSeconds", spec?.startingDeadlineSeconds),
    ...(isNewZone ? validateTimeZone(timeZone) : []),
    ...validateConcurrencyPolicy(concurrencyPolicy),
    ...validateJobTemplateSpec(spec?.jobTemplate, "spec.jobTemplate"),
    ...nonNegative("spec.successfulJobsHistoryLimit", spec?.successfulJobsHistoryLimit),
    ...nonNegative("spec.failedJobsHistoryLimit", spec?.failedJobsHistoryLimit),
  ];
}

function validateConcurrencyPolicy(policy: string): FieldError[] {
  if (policy === "") return [required("spec.concurrencyPolicy")];
  return CONCURRENCY_POLICIES.includes(policy)
    ? []
    : [notSupported("spec.concurrencyPolicy", policy, CONCURRENCY_POLICIES)];
}

function validateSchedule(schedule: string, hasTimeZone: boolean): FieldError[] {
  const errors: FieldError[] = [];
  const parsed = parseStandard(schedule);
  if (parsed.outcome === "invalid") errors.push(invalidValue("spec.schedule", schedule, parsed.why));
  if (schedule.includes("TZ") && hasTimeZone) {
    const why = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
    errors.push(invalidValue("spec.schedule", schedule, why));
  }
  return errors;
}

function validateTimeZone(timeZone: string | null | undefined): FieldError[] {
  if (!isSet(timeZone)) return [];
  const invalid = (why: string) => invalidValue("spec.timeZone", timeZone, why);
  if (timeZone === "") return [invalid("timeZone must be nil or non-empty string")];
  if (timeZone.toLowerCase() === "local") {
    return [invalid("timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")];
  }
  return isTimeZone(timeZone) ? [] : [invalid(`unknown time zone ${timeZone}`)];
}

const TEMPLATE = templateWarnings(
  "spec.jobTemplate.spec.template",
  ({ spec }: CronJobObject) => spec?.jobTemplate.spec?.template,
  { isNameInPods: true },
);

/** Mirrors cronJobStrategy in pkg/registry/batch/cronjob/strategy.go. */
const strategy: Strategy = specAndStatus({
  counted: true,
  freshStatus: () => ({}),
  strategy: {
    warningsOnCreate: (cronJob, context) => [...TEMPLATE.warningsOnCreate(cronJob, context), ...zoneWarnings(cronJob)],
    warningsOnUpdate: (cronJob, old, context) => [
      ...TEMPLATE.warningsOnUpdate(cronJob, old, context),
      ...zoneWarnings(cronJob),
    ],
    validate: validateCreate,
    validateUpdate: (cronJob: CronJobObject, old: CronJobObject) => validateCronJob(cronJob, old),
  },
});

function zoneWarnings({ spec }: CronJobObject): string[] {
  return (spec?.schedule ?? "").includes("TZ")
    ? [
        `CRON_TZ or TZ used in "spec.schedule" is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details`,
      ]
    : [];
}

/** Mirrors printCronJob. */
const TABLE: TableDefinition = {
  columns: [
    NAME_COLUMN,
    column("Schedule", "When jobs are created, in cron's format."),
    column("Suspend", "Whether no new jobs are created.", { type: "boolean" }),
    column("Active", "Its jobs that run now.", { type: "integer" }),
    column("Last Schedule", "When a job was last due."),
    AGE_COLUMN,
    column("Containers", "Names of each container in the template.", { wide: true }),
    column("Images", "Images referenced by each container in the template.", { wide: true }),
    column("Selector", "The selector of the jobs' pods.", { wide: true }),
  ],
  cells(cronJob: CronJobObject, nowMs) {
    const { spec, status } = cronJob;
    const jobSpec = spec?.jobTemplate?.spec;
    return [
      nameOf(cronJob),
      spec?.schedule ?? "",
      isSet(spec?.suspend) ? (spec.suspend ? "True" : "False") : "<unset>",
      countOf(status?.active),
      isSet(status?.lastScheduleTime) ? since(status.lastScheduleTime, nowMs) : NONE,
      ageOf(cronJob, nowMs),
      ...containerCells(jobSpec?.template),
      formatLabelSelector(jobSpec?.selector),
    ];
  },
};

export const CRON_JOBS = row("batch/v1", "CronJob", "cronjobs", strategy, {
  shortNames: ["cj"],
  categories: ["all"],
  table: TABLE,
  subresources: [statusOf()],
});
