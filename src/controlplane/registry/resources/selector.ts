import type { V1LabelSelector, V1LabelSelectorRequirement } from "@kubernetes/client-node";
import { ownValue } from "../../../apimachinery/own.js";
import type { Wire } from "../../../apimachinery/wire.js";

/**
 * Matches the label selector in an object's spec. Absent: matches nothing; empty: matches everything.
 * Mirrors metav1.LabelSelectorAsSelector in k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go.
 */
export function matchesSelector(
  selector: Wire<V1LabelSelector> | null | undefined,
  labels: Readonly<Record<string, string>> = {},
): boolean {
  if (!selector) return false;
  const { matchLabels, matchExpressions } = selector;
  const isEqual = Object.entries(matchLabels ?? {}).every(([key, value]) => ownValue(labels, key) === value);
  return isEqual && (matchExpressions ?? []).every((one) => matchesExpression(one, labels));
}

function matchesExpression(
  { key, operator, values }: Wire<V1LabelSelectorRequirement>,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = ownValue(labels, key) as string | undefined;
  switch (operator) {
    case "In":
      return value !== undefined && values?.includes(value) === true;
    case "NotIn":
      return value === undefined || values?.includes(value) !== true;
    case "Exists":
      return value !== undefined;
    default:
      return value === undefined;
  }
}
