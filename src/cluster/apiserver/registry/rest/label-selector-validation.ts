import type { V1LabelSelector, V1LabelSelectorRequirement } from "@kubernetes/client-node";
import { isLabelValue, isQualifiedName } from "../../../../staging/apimachinery/api/names.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { forbidden, type GoText, goValue, invalidValue, required } from "./field-errors.js";
import { validateLabels } from "./validate-meta.js";

/** Mirrors ValidateLabelSelector in k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go. */
export function validateLabelSelector(selector: Wire<V1LabelSelector> | null | undefined, field: string): FieldError[] {
  if (!selector) return [];
  return [
    ...validateLabels(selector.matchLabels, `${field}.matchLabels`),
    ...(selector.matchExpressions ?? []).flatMap((one, index) =>
      validateRequirement(one, `${field}.matchExpressions[${index}]`),
    ),
  ];
}

function validateRequirement(requirement: Wire<V1LabelSelectorRequirement>, field: string): FieldError[] {
  const { key, operator, values } = requirement;
  const list = values ?? [];
  const errors: FieldError[] = [];
  if (operator === "In" || operator === "NotIn") {
    if (list.length === 0) {
      errors.push(required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (list.length > 0) {
      errors.push(forbidden(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    }
  } else errors.push(invalidValue(`${field}.operator`, operator ?? "", "not a valid selector operator"));
  errors.push(...isQualifiedName(key).map((one) => invalidValue(`${field}.key`, key, one)));
  list.forEach((value, index) => {
    errors.push(...isLabelValue(value).map((one) => invalidValue(`${field}.values[${index}]`, value, one)));
  });
  return errors;
}

/** Labels as Go prints a map in an error: sorted by key. */
export function goLabels(labels: Readonly<Record<string, string>> | null | undefined): GoText {
  return goValue(goMap(labels));
}

function goMap(labels: Readonly<Record<string, string>> | null | undefined): string {
  if (!labels) return "map[string]string(nil)";
  const pairs = Object.entries(labels).map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
  return `map[string]string{${pairs.sort().join(", ")}}`;
}

/** A label selector as Go prints it in an error. */
export function goLabelSelector(selector: Wire<V1LabelSelector> | null | undefined): unknown {
  if (!selector) return undefined;
  const expressions = (selector.matchExpressions ?? []).map(({ key, operator, values }) => {
    const list = values ? `[]string{${values.map((one) => JSON.stringify(one)).join(", ")}}` : "[]string(nil)";
    return `v1.LabelSelectorRequirement{Key:${JSON.stringify(key)}, Operator:${JSON.stringify(operator)}, Values:${list}}`;
  });
  const type = "[]v1.LabelSelectorRequirement";
  const shown = expressions.length === 0 ? `${type}(nil)` : `${type}{${expressions.join(", ")}}`;
  return goValue(`v1.LabelSelector{MatchLabels:${goMap(selector.matchLabels)}, MatchExpressions:${shown}}`);
}
