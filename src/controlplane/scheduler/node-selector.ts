import { matchesNodeSelectorTerm } from "../../apimachinery/api/node-selector.js";
import type { SchedulableNode, SchedulablePod } from "./objects.js";

/**
 * Whether nodes match what a pod asks for by labels and names.
 * Mirrors k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go. Pure.
 */

/** nodeSelector and the required terms of the node affinity. Mirrors RequiredNodeAffinity.Match. */
export function matchesRequiredNodeAffinity(pod: SchedulablePod, node: SchedulableNode): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec?.nodeSelector ?? {})) {
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  }
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || required.nodeSelectorTerms.some((term) => matchesNodeSelectorTerm(term, node));
}
