import type { V1LabelSelector, V1LabelSelectorRequirement } from "@kubernetes/client-node";
import { ownValue } from "./own.js";
import type { Wire } from "./wire.js";

type Labels = Readonly<Record<string, string>>;

/**
 * The label selector in an object's spec, ready to match many objects. Absent: matches nothing; empty: matches everything.
 * Mirrors LabelSelectorAsSelector in k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go.
 */
export function labelSelectorAsSelector(
  selector: Wire<V1LabelSelector> | null | undefined,
): (labels: Labels | undefined) => boolean {
  if (!selector) return () => false;
  const pairs = Object.entries(selector.matchLabels ?? {});
  const expressions = selector.matchExpressions ?? [];
  return (labels = {}) =>
    pairs.every(([key, value]) => ownValue(labels, key) === value) &&
    expressions.every((one) => matchesExpression(one, labels));
}

/** Matches the label selector in an object's spec. @see labelSelectorAsSelector */
export function matchesSelector(
  selector: Wire<V1LabelSelector> | null | undefined,
  labels: Labels | undefined,
): boolean {
  return labelSelectorAsSelector(selector)(labels);
}

function matchesExpression({ key, operator, values }: Wire<V1LabelSelectorRequirement>, labels: Labels): boolean {
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

/**
 * A label selector as a client sends it: `app=web,tier in (a,b),!old`; empty for one that selects everything.
 * Mirrors FormatLabelSelector in k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go.
 */
export function selectorText({ matchLabels, matchExpressions }: Wire<V1LabelSelector>): string {
  const parts = Object.entries(matchLabels ?? {}).map(([key, value]) => ({ key, text: `${key}=${value}` }));
  for (const one of matchExpressions ?? []) parts.push({ key: one.key, text: expressionText(one) });
  parts.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return parts.map((part) => part.text).join(",");
}

function expressionText({ key, operator, values }: Wire<V1LabelSelectorRequirement>): string {
  const list = `(${[...(values ?? [])].sort().join(",")})`;
  switch (operator) {
    case "In":
      return `${key} in ${list}`;
    case "NotIn":
      return `${key} notin ${list}`;
    case "DoesNotExist":
      return `!${key}`;
    default:
      return key;
  }
}
