import { isLabelBelow, isReservedForOthers } from "../../../../staging/apimachinery/corev1/kubelet-labels.js";

const RESTRICTED_NAMESPACE = "node-restriction.kubernetes.io";

type Labels = Readonly<Record<string, string>>;

/**
 * The changed labels that a node is not allowed to modify, sorted.
 * Mirrors plugin/pkg/admission/noderestriction/admission.go (getModifiedLabels, getForbiddenLabels).
 */
export function forbiddenLabelChanges(labels: Labels = {}, oldLabels: Labels = {}): string[] {
  const keys = new Set([...Object.keys(labels), ...Object.keys(oldLabels)]);
  return [...keys].filter((key) => labels[key] !== oldLabels[key] && isForbidden(key)).sort();
}

function isForbidden(label: string): boolean {
  return isLabelBelow(label, RESTRICTED_NAMESPACE) || isReservedForOthers(label);
}
