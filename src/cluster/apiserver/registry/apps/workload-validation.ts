import type {
  V1ControllerRevision,
  V1DaemonSet,
  V1Deployment,
  V1LabelSelector,
  V1PodTemplateSpec,
  V1ReplicaSet,
  V1ReplicationController,
  V1StatefulSet,
} from "@kubernetes/client-node";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { matchesSelector } from "../../../../staging/apimachinery/selector.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../util/records.js";
import { factFor } from "../../../../util/release/facts.js";
import { validatePodTemplateSpec } from "../core/pod-template.js";
import {
  forbidden,
  goValue,
  IMMUTABLE,
  invalidValue,
  nonNegative,
  notSupported,
  required,
} from "../rest/field-errors.js";
import { goLabelSelector, goLabels, validateLabelSelector } from "../rest/label-selector-validation.js";
import { validateLabels } from "../rest/validate-meta.js";
import { validateRetentionPolicy } from "./stateful-set-fields.js";

/** Mirrors pkg/apis/apps/validation/validation.go, and the part of ReplicationControllers in pkg/apis/core/validation. */

type Selector = Wire<V1LabelSelector> | null | undefined;
type Template = Wire<V1PodTemplateSpec> | undefined;

const TEMPLATE = "spec.template";
const NO_MATCH = "`selector` does not match template `labels`";

export function validateDeployment({ spec }: Wire<V1Deployment>): FieldError[] {
  const { progressDeadlineSeconds, minReadySeconds = 0 } = spec ?? {};
  const errors = [
    ...nonNegative("spec.replicas", spec?.replicas),
    ...requiredSelector(spec?.selector, "deployment"),
    ...validateTemplate(spec?.template, spec?.selector, "ReplicaSet"),
    ...validateDeploymentStrategy(spec?.strategy),
    ...nonNegative("spec.minReadySeconds", minReadySeconds),
    ...nonNegative("spec.revisionHistoryLimit", spec?.revisionHistoryLimit),
  ];
  if (!isSet(progressDeadlineSeconds)) return errors;
  const field = "spec.progressDeadlineSeconds";
  errors.push(...nonNegative(field, progressDeadlineSeconds));
  if (progressDeadlineSeconds <= minReadySeconds) {
    errors.push(invalidValue(field, progressDeadlineSeconds, "must be greater than minReadySeconds"));
  }
  return errors;
}

function validateDeploymentStrategy(strategy: NonNullable<Wire<V1Deployment>["spec"]>["strategy"]): FieldError[] {
  const { type = "", rollingUpdate } = strategy ?? {};
  if (type === "Recreate") {
    if (!isSet(rollingUpdate)) return [];
    return [forbidden("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")];
  }
  if (type !== "RollingUpdate") {
    const shown = `apps.DeploymentStrategy{Type:${JSON.stringify(type)}, RollingUpdate:(*apps.RollingUpdateDeployment)(nil)}`;
    return [notSupported("spec.strategy", goValue(shown), ["Recreate", "RollingUpdate"])];
  }
  const { maxUnavailable, maxSurge } = rollingUpdate ?? {};
  const field = "spec.strategy.rollingUpdate";
  const errors = [
    ...intOrPercent(`${field}.maxUnavailable`, maxUnavailable),
    ...intOrPercent(`${field}.maxSurge`, maxSurge),
  ];
  if (amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0) {
    const why = "may not be 0 when `maxSurge` is 0";
    errors.push(invalidValue(`${field}.maxUnavailable`, goIntOrString(maxUnavailable), why));
  }
  return [...errors, ...atMost100Percent(`${field}.maxUnavailable`, maxUnavailable)];
}

export function validateReplicaSet({ spec }: Wire<V1ReplicaSet>): FieldError[] {
  return [
    ...nonNegative("spec.replicas", spec?.replicas),
    ...nonNegative("spec.minReadySeconds", spec?.minReadySeconds),
    // Upstream's message names the other kind.
    ...requiredSelector(spec?.selector, "deployment"),
    ...validateTemplate(spec?.template, spec?.selector, "ReplicaSet"),
  ];
}

/** Mirrors ValidateReplicationControllerSpec in pkg/apis/core/validation/validation.go. */
export function validateReplicationController({ spec }: Wire<V1ReplicationController>): FieldError[] {
  const matchLabels = (spec?.selector ?? {}) as Readonly<Record<string, string>>;
  const isEmpty = Object.keys(matchLabels).length === 0;
  return [
    ...nonNegative("spec.minReadySeconds", spec?.minReadySeconds),
    ...(isEmpty ? [required("spec.selector")] : []),
    ...nonNegative("spec.replicas", spec?.replicas),
    ...(isSet(spec?.template)
      ? validateTemplate(spec.template, isEmpty ? undefined : { matchLabels }, "ReplicationController")
      : [required(TEMPLATE)]),
  ];
}

export function validateDaemonSet({ spec }: Wire<V1DaemonSet>): FieldError[] {
  const { selector, template, updateStrategy, minReadySeconds, revisionHistoryLimit } = spec ?? {};
  return [
    ...validateLabelSelector(selector, "spec.selector"),
    ...labelsMatch(template, selector),
    ...notEmpty(selector, "daemonset"),
    ...validatePodTemplateSpec(template, TEMPLATE),
    ...alwaysRestarts(template, "DaemonSet"),
    ...nonNegative("spec.minReadySeconds", minReadySeconds),
    ...validateDaemonSetStrategy(updateStrategy),
    ...nonNegative("spec.revisionHistoryLimit", revisionHistoryLimit),
  ];
}

function validateDaemonSetStrategy(strategy: NonNullable<Wire<V1DaemonSet>["spec"]>["updateStrategy"]): FieldError[] {
  const { type = "", rollingUpdate } = strategy ?? {};
  if (type === "OnDelete") return [];
  if (type !== "RollingUpdate") {
    const shown = `apps.DaemonSetUpdateStrategy{Type:${JSON.stringify(type)}, RollingUpdate:(*apps.RollingUpdateDaemonSet)(nil)}`;
    return [notSupported("spec.updateStrategy", goValue(shown), ["RollingUpdate", "OnDelete"])];
  }
  const field = "spec.updateStrategy.rollingUpdate";
  if (!isSet(rollingUpdate)) return [required(field)];
  const { maxUnavailable, maxSurge } = rollingUpdate;
  const errors = [
    ...intOrPercent(`${field}.maxUnavailable`, maxUnavailable),
    ...intOrPercent(`${field}.maxSurge`, maxSurge),
  ];
  const [unavailable, surge] = [amountOf(maxUnavailable), amountOf(maxSurge)];
  if (surge > 0 && unavailable > 0) {
    const why = "may not be set when maxUnavailable is non-zero";
    errors.push(invalidValue(`${field}.maxSurge`, goIntOrString(maxSurge), why));
  }
  if (surge === 0 && unavailable === 0)
    errors.push(required(`${field}.maxUnavailable`, "cannot be 0 when maxSurge is 0"));
  return [
    ...errors,
    ...atMost100Percent(`${field}.maxUnavailable`, maxUnavailable),
    ...atMost100Percent(`${field}.maxSurge`, maxSurge),
  ];
}

export function validateStatefulSet({ spec }: Wire<V1StatefulSet>): FieldError[] {
  const { podManagementPolicy = "", updateStrategy, template, selector } = spec ?? {};
  const errors: FieldError[] = [];
  if (podManagementPolicy === "") errors.push(required("spec.podManagementPolicy"));
  else if (!["OrderedReady", "Parallel"].includes(podManagementPolicy)) {
    const why = "must be 'OrderedReady' or 'Parallel'";
    errors.push(invalidValue("spec.podManagementPolicy", podManagementPolicy, why));
  }
  return [
    ...errors,
    ...validateStatefulSetStrategy(updateStrategy),
    ...nonNegative("spec.replicas", spec?.replicas),
    ...nonNegative("spec.minReadySeconds", spec?.minReadySeconds),
    ...nonNegative("spec.ordinals.start", spec?.ordinals?.start),
    ...validateRetentionPolicy(spec?.persistentVolumeClaimRetentionPolicy),
    ...requiredSelector(selector, "statefulset"),
    // Upstream does not check the pods' spec, which lacks the volumes of the claims.
    ...labelsMatch(template, selector),
    ...validateLabels(template?.metadata?.labels, `${TEMPLATE}.labels`),
    ...alwaysRestarts(template, "StatefulSet"),
  ];
}

function validateStatefulSetStrategy(
  strategy: NonNullable<Wire<V1StatefulSet>["spec"]>["updateStrategy"],
): FieldError[] {
  const { type = "", rollingUpdate } = strategy ?? {};
  const field = "spec.updateStrategy";
  switch (type) {
    case "":
      return [required(field)];
    case "OnDelete": {
      if (!isSet(rollingUpdate)) return [];
      const why = "only allowed for updateStrategy 'RollingUpdate'";
      const shown = `apps.RollingUpdateStatefulSetStrategy{Partition:${rollingUpdate.partition ?? 0}}`;
      return [invalidValue(`${field}.rollingUpdate`, goValue(shown), why)];
    }
    case "RollingUpdate":
      return nonNegative(`${field}.rollingUpdate.partition`, rollingUpdate?.partition);
    default: {
      const shown = `apps.StatefulSetUpdateStrategy{Type:${JSON.stringify(type)}, RollingUpdate:(*apps.RollingUpdateStatefulSetStrategy)(nil)}`;
      return [invalidValue(field, goValue(shown), "must be 'RollingUpdate' or 'OnDelete'")];
    }
  }
}

const STATEFUL_SET_CHANGES = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
] as const;

/** Mirrors ValidateStatefulSetUpdate. */
export function validateStatefulSetUpdate(
  set: Wire<V1StatefulSet>,
  old: Wire<V1StatefulSet>,
  kubeVersion: string,
): FieldError[] {
  const errors = validateStatefulSet(set);
  const hasOrdinals = factFor("statefulSetStartOrdinal", kubeVersion);
  const allowed: readonly string[] = STATEFUL_SET_CHANGES.filter((name) => name !== "ordinals" || hasOrdinals);
  const fixed = (one: Wire<V1StatefulSet>) =>
    Object.entries(one.spec ?? {}).filter(([name]) => !allowed.includes(name));
  if (!semanticallyEqual(Object.fromEntries(fixed(set)), Object.fromEntries(fixed(old)))) {
    const names = allowed.map((name) => `'${name}'`);
    const list = `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
    errors.push(forbidden("spec", `updates to statefulset spec for fields other than ${list} are forbidden`));
  }
  return errors;
}

export function validateControllerRevision({ data, revision }: Wire<V1ControllerRevision>): FieldError[] {
  return [...(isSet(data) ? [] : [required("data", "data is mandatory")]), ...nonNegative("revision", revision)];
}

export function validateControllerRevisionUpdate(
  revision: Wire<V1ControllerRevision>,
  old: Wire<V1ControllerRevision>,
): FieldError[] {
  const errors = validateControllerRevision(revision);
  if (semanticallyEqual(revision.data, old.data)) return errors;
  return [...errors, invalidValue("data", goValue("runtime.RawExtension"), IMMUTABLE)];
}

/** Since apps/v1 a selector stays as it was created. Mirrors ValidateUpdate in pkg/registry/apps. */
export function immutableSelector(selector: Selector, old: Selector): FieldError[] {
  return semanticallyEqual(selector, old) ? [] : [invalidValue("spec.selector", goLabelSelector(selector), IMMUTABLE)];
}

function requiredSelector(selector: Selector, kind: string): FieldError[] {
  if (!selector) return [required("spec.selector")];
  return [...validateLabelSelector(selector, "spec.selector"), ...notEmpty(selector, kind)];
}

function notEmpty(selector: Selector, kind: string): FieldError[] {
  if (!selector || !semanticallyEqual(selector, {})) return [];
  return [invalidValue("spec.selector", goLabelSelector(selector), `empty selector is invalid for ${kind}`)];
}

/** A workload that does not select its own pods would create pods endlessly. */
function labelsMatch(template: Template, selector: Selector): FieldError[] {
  const labels = template?.metadata?.labels;
  if (!selector || matchesSelector(selector, labels)) return [];
  return [invalidValue(`${TEMPLATE}.metadata.labels`, goLabels(labels), NO_MATCH)];
}

/** Mirrors ValidatePodTemplateSpecForReplicaSet and ValidatePodTemplateSpecForRC. */
function validateTemplate(template: Template, selector: Selector, kind: string): FieldError[] {
  return [
    ...labelsMatch(template, selector),
    ...validatePodTemplateSpec(template, TEMPLATE),
    ...alwaysRestarts(template, kind),
  ];
}

function alwaysRestarts(template: Template, kind: string): FieldError[] {
  const { restartPolicy = "", activeDeadlineSeconds } = template?.spec ?? {};
  const errors: FieldError[] = [];
  if (restartPolicy !== "Always") {
    errors.push(notSupported(`${TEMPLATE}.spec.restartPolicy`, restartPolicy, ["Always"]));
  }
  if (isSet(activeDeadlineSeconds)) {
    const why = `activeDeadlineSeconds in ${kind} is not Supported`;
    errors.push(forbidden(`${TEMPLATE}.spec.activeDeadlineSeconds`, why));
  }
  return errors;
}

const PERCENT = /^[0-9]+%$/;
const NO_PERCENT =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

/** Mirrors ValidatePositiveIntOrPercent. */
function intOrPercent(field: string, value: unknown): FieldError[] {
  if (typeof value === "number") return nonNegative(field, value);
  if (typeof value !== "string" || PERCENT.test(value)) return [];
  return [invalidValue(field, goIntOrString(value), NO_PERCENT)];
}

function amountOf(value: unknown): number {
  return typeof value === "number" ? value : Number.parseInt(String(value ?? 0), 10) || 0;
}

/** Mirrors IsNotMoreThan100Percent. */
function atMost100Percent(field: string, value: unknown): FieldError[] {
  if (typeof value !== "string" || !PERCENT.test(value) || amountOf(value) <= 100) return [];
  return [invalidValue(field, goIntOrString(value), "must not be greater than 100%")];
}

function goIntOrString(value: unknown) {
  const [type, number, text] = typeof value === "string" ? [1, 0, value] : [0, value ?? 0, ""];
  return goValue(`intstr.IntOrString{Type:${type}, IntVal:${number}, StrVal:${JSON.stringify(text)}}`);
}
