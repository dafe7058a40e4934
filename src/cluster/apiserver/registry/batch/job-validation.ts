import type { V1Job, V1JobSpec, V1JobTemplateSpec } from "@kubernetes/client-node";
import { JOB_TRACKING } from "../../../../staging/apimachinery/api/job.js";
import { isDns1123Label } from "../../../../staging/apimachinery/api/names.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { matchesSelector } from "../../../../staging/apimachinery/selector.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../util/records.js";
import { validatePodTemplateSpec } from "../core/pod-template.js";
import {
  duplicate,
  forbidden,
  goValue,
  IMMUTABLE,
  invalidValue,
  nonNegative,
  notSupported,
  required,
} from "../rest/field-errors.js";
import { goLabelSelector, goLabels, validateLabelSelector } from "../rest/label-selector-validation.js";
import type { GeneratedLabels } from "./generate-selector.js";
import { validatePodFailurePolicy } from "./pod-failure-policy.js";

/** Mirrors pkg/apis/batch/validation/validation.go, in its order. */

type JobObject = Wire<V1Job>;
type JobSpec = Wire<V1JobSpec>;

/** Caps the length of status.completedIndexes. */
const MAX_PARALLELISM_FOR_INDEXED_JOB = 100_000;
const COMPLETION_MODES = ["NonIndexed", "Indexed"];
const RESTART_POLICIES = ["OnFailure", "Never"];

/** @param expected the labels that a generated selector needs @param old undefined: a new job */
export function validateJob(job: JobObject, expected: GeneratedLabels, old?: JobObject): FieldError[] {
  const { metadata, spec = {} as JobSpec } = job;
  const errors = [...validateGeneratedSelector(job, expected), ...validateJobSpec(spec)];
  if (old !== undefined && !isTracked(old) && isTracked(job)) {
    errors.push(forbidden(`metadata.annotations[${JOB_TRACKING}]`, "cannot add this annotation"));
  }
  const { completionMode, completions } = spec;
  if (completionMode === "Indexed" && isSet(completions) && completions > 0) {
    // The controller appends the index to the pods' host names.
    const { name = "" } = metadata;
    const longest = `${name}-${completions - 1}`;
    if (isDns1123Label(longest).length > 0) {
      const why = `will not able to create pod with invalid DNS label: ${longest}`;
      errors.push(invalidValue("metadata.name", name, why));
    }
  }
  return errors;
}

function isTracked({ metadata }: JobObject): boolean {
  return metadata.annotations !== undefined && Object.hasOwn(metadata.annotations, JOB_TRACKING);
}

/** The labels of a generated selector must be on the pods and nothing else may be selected. */
function validateGeneratedSelector({ metadata, spec }: JobObject, expected: GeneratedLabels): FieldError[] {
  if (spec?.manualSelector === true || !spec?.selector) return [];
  const errors: FieldError[] = [];
  if ((metadata.uid ?? "") === "") errors.push(required("metadata.uid"));
  const { labels } = spec.template?.metadata ?? {};
  for (const [key, value] of Object.entries(expected)) {
    const field = `spec.template.metadata.labels[${key}]`;
    if (labels?.[key] === undefined) errors.push(required(field, `must be '${value}'`));
    else if (labels[key] !== value) errors.push(invalidValue(field, goLabels(labels), `must be '${value}'`));
  }
  if (!matchesSelector(spec.selector, expected)) {
    errors.push(invalidValue("spec.selector", goLabelSelector(spec.selector), "`selector` not auto-generated"));
  }
  return errors;
}

function validateJobSpec(spec: JobSpec): FieldError[] {
  const errors = validateCommonSpec(spec, "spec");
  const { selector, template } = spec;
  if (!selector) errors.push(required("spec.selector"));
  else errors.push(...validateLabelSelector(selector, "spec.selector"));
  const labels = template?.metadata?.labels;
  if (!matchesSelector(selector, labels)) {
    const why = "`selector` does not match template `labels`";
    errors.push(invalidValue("spec.template.metadata.labels", goLabels(labels), why));
  }
  return errors;
}

/** The rules for jobs and for the jobs in a CronJob's template. Mirrors validateJobSpec. */
function validateCommonSpec(spec: JobSpec, field: string): FieldError[] {
  const { completionMode, parallelism, podFailurePolicy } = spec;
  const errors = [
    ...nonNegative(`${field}.parallelism`, parallelism),
    ...nonNegative(`${field}.completions`, spec.completions),
    ...nonNegative(`${field}.activeDeadlineSeconds`, spec.activeDeadlineSeconds),
    ...nonNegative(`${field}.backoffLimit`, spec.backoffLimit),
    ...nonNegative(`${field}.ttlSecondsAfterFinished`, spec.ttlSecondsAfterFinished),
  ];
  if (isSet(completionMode) && !COMPLETION_MODES.includes(completionMode)) {
    errors.push(notSupported(`${field}.completionMode`, completionMode, COMPLETION_MODES));
  }
  if (completionMode === "Indexed") {
    if (!isSet(spec.completions)) {
      errors.push(required(`${field}.completions`, "when completion mode is Indexed"));
    }
    if (isSet(parallelism) && parallelism > MAX_PARALLELISM_FOR_INDEXED_JOB) {
      const why = `must be less than or equal to ${MAX_PARALLELISM_FOR_INDEXED_JOB} when completion mode is Indexed`;
      errors.push(invalidValue(`${field}.parallelism`, parallelism, why));
    }
  }
  errors.push(...validatePodFailurePolicy(spec, `${field}.podFailurePolicy`));
  errors.push(...validatePodTemplateSpec(spec.template, `${field}.template`));
  return [...errors, ...validateRestartPolicy(spec, `${field}.template.spec.restartPolicy`, isSet(podFailurePolicy))];
}

/** Always is the default of pods, so it counts as missing. */
function validateRestartPolicy({ template }: JobSpec, field: string, hasFailurePolicy: boolean): FieldError[] {
  const { restartPolicy = "" } = template?.spec ?? {};
  if (restartPolicy === "" || restartPolicy === "Always") {
    return [required(field, 'valid values: "OnFailure", "Never"')];
  }
  if (!RESTART_POLICIES.includes(restartPolicy)) return [notSupported(field, restartPolicy, RESTART_POLICIES)];
  if (!hasFailurePolicy || restartPolicy === "Never") return [];
  return [invalidValue(field, restartPolicy, 'only "Never" is supported when podFailurePolicy is specified')];
}

/** Mirrors ValidateJobSpecUpdate. */
export function validateJobUpdate(job: JobObject, old: JobObject): FieldError[] {
  const { spec = {} as JobSpec } = job;
  const before = old.spec ?? ({} as JobSpec);
  const template = goValue("core.PodTemplateSpec");
  return [
    ...validateJobSpec(spec),
    ...immutable("spec.completions", spec.completions, before.completions),
    ...immutable("spec.selector", spec.selector, before.selector, goLabelSelector(spec.selector)),
    ...immutable("spec.template", frozenTemplate(spec, old), before.template, template),
    ...immutable("spec.completionMode", spec.completionMode, before.completionMode),
    ...immutable(
      "spec.podFailurePolicy",
      spec.podFailurePolicy,
      before.podFailurePolicy,
      goValue("batch.PodFailurePolicy"),
    ),
  ];
}

function immutable(field: string, value: unknown, old: unknown, shown = value): FieldError[] {
  return semanticallyEqual(value, old) ? [] : [invalidValue(field, shown, IMMUTABLE)];
}

/**
 * The parts of the template that cannot change: a suspended job that never ran can still get other rules for its
 * nodes. Mirrors validatePodTemplateUpdate.
 */
function frozenTemplate({ template }: JobSpec, { spec: before, status }: JobObject): unknown {
  if (before?.suspend !== true || isSet(status?.startTime)) return template;
  const { metadata, spec } = before.template ?? {};
  const { nodeSelector, tolerations, affinity } = spec ?? {};
  const { labels, annotations } = metadata ?? {};
  const now = template?.spec;
  return {
    ...template,
    metadata: { ...template?.metadata, labels, annotations },
    spec: {
      ...now,
      nodeSelector,
      tolerations,
      affinity: { ...now?.affinity, nodeAffinity: affinity?.nodeAffinity },
    },
  };
}

/** Mirrors validateJobStatus. */
export function validateJobStatus({ status = {} }: JobObject): FieldError[] {
  const { uncountedTerminatedPods: uncounted } = status;
  const seen = new Set<string>();
  const uids = (list: readonly string[] | undefined, field: string) =>
    (list ?? []).flatMap((uid, index): FieldError[] => {
      const at = `status.uncountedTerminatedPods.${field}[${index}]`;
      if (uid === "") return [invalidValue(at, uid, "must not be empty")];
      if (seen.has(uid)) return [duplicate(at, uid)];
      seen.add(uid);
      return [];
    });
  return [
    ...nonNegative("status.active", status.active),
    ...nonNegative("status.succeeded", status.succeeded),
    ...nonNegative("status.failed", status.failed),
    ...nonNegative("status.ready", status.ready),
    ...uids(uncounted?.succeeded, "succeeded"),
    ...uids(uncounted?.failed, "failed"),
  ];
}

/** Mirrors ValidateJobTemplateSpec. @param field `spec.jobTemplate` */
export function validateJobTemplateSpec(template: Wire<V1JobTemplateSpec> | undefined, field: string): FieldError[] {
  const spec = template?.spec ?? ({} as JobSpec);
  const errors = validateCommonSpec(spec, `${field}.spec`);
  if (spec.selector) {
    const shown = goLabelSelector(spec.selector);
    errors.push(invalidValue(`${field}.spec.selector`, shown, "`selector` will be auto-generated"));
  }
  if (spec.manualSelector === true) {
    errors.push(notSupported(`${field}.spec.manualSelector`, true, ["nil", "false"]));
  }
  return errors;
}
