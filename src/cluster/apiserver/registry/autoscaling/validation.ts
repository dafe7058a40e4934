import type {
  V2CrossVersionObjectReference,
  V2HorizontalPodAutoscaler,
  V2HPAScalingRules,
  V2MetricIdentifier,
  V2MetricSpec,
  V2MetricTarget,
} from "@kubernetes/client-node";
import { isDns1123Label, isPathSegmentName } from "../../../../staging/apimachinery/api/names.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { signOfQuantity } from "../../../../staging/apimachinery/quantity.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../util/records.js";
import { forbidden, invalidValue, nonNegative, notSupported, required } from "../rest/field-errors.js";

/** Mirrors pkg/apis/autoscaling/validation/validation.go. Objects have version v2 here. */

type Hpa = Wire<V2HorizontalPodAutoscaler>;
type Metric = Wire<V2MetricSpec>;

const MAX_PERIOD_SECONDS = 1800;
const MAX_STABILIZATION_SECONDS = 3600;
// Sorted, because Go prints sets sorted.
const SELECT_POLICIES = ["Disabled", "Max", "Min"];
const POLICY_TYPES = ["Percent", "Pods"];
const SOURCE_OF: Readonly<Record<string, keyof Metric>> = {
  ContainerResource: "containerResource",
  External: "external",
  Object: "object",
  Pods: "pods",
  Resource: "resource",
};
const TARGET_TYPES = ["Utilization", "Value", "AverageValue"];

/** @param old undefined: a new object */
export function validateHpa({ spec }: Hpa, old?: Hpa): FieldError[] {
  const { minReplicas, maxReplicas = 0, metrics, behavior, scaleTargetRef } = spec ?? {};
  const least = old?.spec?.minReplicas === 0 ? 0 : 1;
  const errors: FieldError[] = [];
  const invalid = (field: string, value: number, why: string) => errors.push(invalidValue(`spec.${field}`, value, why));
  if (isSet(minReplicas) && minReplicas < least) {
    invalid("minReplicas", minReplicas, `must be greater than or equal to ${least}`);
  }
  if (maxReplicas < 1) invalid("maxReplicas", maxReplicas, "must be greater than 0");
  if (isSet(minReplicas) && maxReplicas < minReplicas) {
    invalid("maxReplicas", maxReplicas, "must be greater than or equal to `minReplicas`");
  }
  errors.push(...validateTargetRef(scaleTargetRef, "spec.scaleTargetRef"));
  errors.push(...(metrics ?? []).flatMap((metric, index) => validateMetric(metric, `spec.metrics[${index}]`)));
  if (minReplicas === 0 && !(metrics ?? []).some(({ type }) => type === "Object" || type === "External")) {
    const why = "must specify at least one Object or External metric to support scaling to zero replicas";
    errors.push(forbidden("spec.metrics", why));
  }
  return [
    ...errors,
    ...validateRules(behavior?.scaleUp, "spec.behavior.scaleUp"),
    ...validateRules(behavior?.scaleDown, "spec.behavior.scaleDown"),
  ];
}

/** Mirrors ValidateHorizontalPodAutoscalerStatusUpdate. */
export function validateHpaStatus({ status }: Hpa): FieldError[] {
  return [
    ...nonNegative("status.currentReplicas", status?.currentReplicas),
    ...nonNegative("status.desiredReplicas", status?.desiredReplicas),
  ];
}

function validateTargetRef(reference: Wire<V2CrossVersionObjectReference> | undefined, field: string): FieldError[] {
  const { kind = "", name = "" } = reference ?? {};
  return Object.entries({ kind, name }).flatMap(([part, value]) => pathSegment(`${field}.${part}`, value, ""));
}

function pathSegment(field: string, value: string, whyRequired: string): FieldError[] {
  if (value === "") return [required(field, whyRequired)];
  return isPathSegmentName(value).map((one) => invalidValue(field, value, one));
}

function validateMetric(metric: Metric, field: string): FieldError[] {
  const { type = "" } = metric;
  const known = Object.keys(SOURCE_OF);
  const expected = Object.hasOwn(SOURCE_OF, type) ? SOURCE_OF[type] : undefined;
  const errors: FieldError[] = [];
  if (type === "") errors.push(required(`${field}.type`, "must specify a metric source type"));
  if (expected === undefined) errors.push(notSupported(`${field}.type`, type, known));
  const sources = (["object", "external", "pods", "resource", "containerResource"] as const).filter((source) =>
    isSet(metric[source]),
  );
  if (sources[0] !== undefined) errors.push(...validateSource(metric, sources[0], `${field}.${sources[0]}`));
  if (expected === undefined) errors.push(notSupported(`${field}.type`, type, known));
  else if (!isSet(metric[expected])) {
    const gate = expected === "containerResource" ? " (only allowed when HPAContainerMetrics feature is enabled)" : "";
    const why = `must populate information for the given metric source${gate}`;
    errors.push(required(`${field}.${expected}`, why));
  }
  if (sources.length === 1) return errors;
  const others = sources.filter((source) => source !== expected);
  return [
    ...errors,
    ...others.map((one) => forbidden(`${field}.${one}`, "must populate the given metric source only")),
  ];
}

function validateSource(metric: Metric, source: keyof Metric, field: string): FieldError[] {
  const { object, external, pods, resource, containerResource } = metric;
  switch (source) {
    case "object":
      return [
        ...validateTargetRef(object?.describedObject, `${field}.describedObject`),
        ...validateIdentifier(object?.metric, `${field}.metric`),
        ...validateTarget(object?.target, `${field}.target`),
        ...needsValue(object?.target, field, "must set either a target value or averageValue"),
      ];
    case "external": {
      const { target } = external ?? {};
      const errors = [
        ...validateIdentifier(external?.metric, `${field}.metric`),
        ...validateTarget(target, `${field}.target`),
        ...needsValue(target, field, "must set either a target value for metric or a per-pod target"),
      ];
      if (isSet(target?.value) && isSet(target.averageValue)) {
        const why = "may not set both a target value for metric and a per-pod target";
        errors.push(forbidden(`${field}.target.value`, why));
      }
      return errors;
    }
    case "pods": {
      const errors = [
        ...validateIdentifier(pods?.metric, `${field}.metric`),
        ...validateTarget(pods?.target, `${field}.target`),
      ];
      if (isSet(pods?.target.averageValue)) return errors;
      return [...errors, required(`${field}.target.averageValue`, "must specify a positive target averageValue")];
    }
    default:
      return validateResource({ container: "-", ...resource, ...containerResource }, field);
  }
}

interface ResourceSource {
  readonly name?: string;
  readonly container?: string;
  readonly target?: Wire<V2MetricTarget>;
}

function validateResource({ name = "", container = "", target }: ResourceSource, field: string): FieldError[] {
  const errors = name === "" ? [required(`${field}.name`, "must specify a resource name")] : [];
  if (container === "") errors.push(required(`${field}.container`, "must specify a container"));
  else if (container !== "-") {
    errors.push(...isDns1123Label(container).map((one) => invalidValue(`${field}.container`, container, one)));
  }
  errors.push(...validateTarget(target, `${field}.target`));
  const { averageUtilization, averageValue } = target ?? {};
  if (!isSet(averageUtilization) && !isSet(averageValue)) {
    const why = "must set either a target raw value or a target utilization";
    errors.push(required(`${field}.target.averageUtilization`, why));
  }
  if (isSet(averageUtilization) && isSet(averageValue)) {
    const why = "may not set both a target raw value and a target utilization";
    errors.push(forbidden(`${field}.target.averageValue`, why));
  }
  return errors;
}

function needsValue(target: Wire<V2MetricTarget> | undefined, field: string, why: string): FieldError[] {
  return isSet(target?.value) || isSet(target?.averageValue) ? [] : [required(`${field}.target.averageValue`, why)];
}

function validateIdentifier(metric: Wire<V2MetricIdentifier> | undefined, field: string): FieldError[] {
  return pathSegment(`${field}.name`, metric?.name ?? "", "must specify a metric name");
}

function validateTarget(target: Wire<V2MetricTarget> | undefined, field: string): FieldError[] {
  const { type = "", value, averageValue, averageUtilization } = target ?? {};
  const errors = type === "" ? [required(`${field}.type`, "must specify a metric target type")] : [];
  if (!TARGET_TYPES.includes(type)) {
    errors.push(invalidValue(`${field}.type`, type, "must be either Utilization, Value, or AverageValue"));
  }
  for (const [name, quantity] of Object.entries({ value, averageValue })) {
    if (!isSet(quantity) || signOfQuantity(quantity) > 0) continue;
    errors.push(invalidValue(`${field}.${name}`, quantity, "must be positive"));
  }
  if (isSet(averageUtilization) && averageUtilization < 1) {
    errors.push(invalidValue(`${field}.averageUtilization`, averageUtilization, "must be greater than 0"));
  }
  return errors;
}

function validateRules(rules: Wire<V2HPAScalingRules> | undefined, field: string): FieldError[] {
  if (!rules) return [];
  const { stabilizationWindowSeconds: seconds, selectPolicy } = rules;
  const policies = rules.policies ?? [];
  const errors: FieldError[] = [];
  if (isSet(seconds) && seconds < 0) {
    errors.push(invalidValue(`${field}.stabilizationWindowSeconds`, seconds, "must be greater than or equal to zero"));
  }
  if (isSet(seconds) && seconds > MAX_STABILIZATION_SECONDS) {
    const why = `must be less than or equal to ${MAX_STABILIZATION_SECONDS}`;
    errors.push(invalidValue(`${field}.stabilizationWindowSeconds`, seconds, why));
  }
  if (isSet(selectPolicy) && !SELECT_POLICIES.includes(selectPolicy)) {
    errors.push(notSupported(`${field}.selectPolicy`, selectPolicy, SELECT_POLICIES));
  }
  if (policies.length === 0) errors.push(required(`${field}.policies`, "must specify at least one Policy"));
  policies.forEach(({ type, value, periodSeconds }, index) => {
    const at = `${field}.policies[${index}]`;
    if (!POLICY_TYPES.includes(type)) errors.push(notSupported(`${at}.type`, type, POLICY_TYPES));
    if (value <= 0) errors.push(invalidValue(`${at}.value`, value, "must be greater than zero"));
    if (periodSeconds <= 0)
      errors.push(invalidValue(`${at}.periodSeconds`, periodSeconds, "must be greater than zero"));
    if (periodSeconds > MAX_PERIOD_SECONDS) {
      errors.push(
        invalidValue(`${at}.periodSeconds`, periodSeconds, `must be less than or equal to ${MAX_PERIOD_SECONDS}`),
      );
    }
  });
  return errors;
}
