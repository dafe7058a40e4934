import { ownValue } from "../../../apimachinery/own.js";
import { isSet } from "../../../util/records.js";
import { fields, items, text } from "./access.js";

/**
 * Matches the label selector in an object's spec. Absent: matches nothing; empty: matches everything.
 * Mirrors metav1.LabelSelectorAsSelector in k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go.
 */
export function matchesSelector(selector: unknown, labels: Readonly<Record<string, string>> = {}): boolean {
  if (!isSet(selector)) return false;
  const { matchLabels, matchExpressions } = fields(selector);
  const isEqual = Object.entries(fields(matchLabels)).every(([key, value]) => ownValue(labels, key) === value);
  return isEqual && items(matchExpressions).every((one) => matchesExpression(one, labels));
}

function matchesExpression(expression: unknown, labels: Readonly<Record<string, string>>): boolean {
  const { key, operator, values } = fields(expression);
  const value = ownValue(labels, text(key));
  switch (operator) {
    case "In":
      return value !== undefined && items(values).includes(value);
    case "NotIn":
      return value === undefined || !items(values).includes(value);
    case "Exists":
      return value !== undefined;
    default:
      return value === undefined;
  }
}
