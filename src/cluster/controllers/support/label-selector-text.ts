import type { V1LabelSelector } from "@kubernetes/client-node";
import type { Wire } from "../../../staging/apimachinery/wire.js";

/** A label selector as Go's `%+v` prints the pointer. Mirrors LabelSelector.String in k8s.io/apimachinery/pkg/apis/meta/v1/generated.pb.go. */
export function labelSelectorText(selector: Wire<V1LabelSelector> | null | undefined): string {
  if (!selector) return "nil";
  const { matchLabels, matchExpressions } = selector;
  const labels = Object.entries(matchLabels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const shownLabels = labels.map(([key, value]) => `${key}: ${value},`).join("");
  const expressions = (matchExpressions ?? []).map(
    ({ key, operator, values }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${(values ?? []).join(" ")}],},`,
  );
  return `&LabelSelector{MatchLabels:map[string]string{${shownLabels}},MatchExpressions:[]LabelSelectorRequirement{${expressions.join("")}},}`;
}
