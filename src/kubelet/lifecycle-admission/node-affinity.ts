import { matchesNodeSelectorTerm, type NodeSelectorTerm } from "../../apimachinery/api/node-selector.js";
import type { V1Pod } from "../../apimachinery/api/pod.js";
import { ownValue } from "../../apimachinery/own.js";
import type { NodeObject } from "../nodestatus/node.js";

/**
 * Does the node still have the labels and the name that the pod asks for? Pure.
 *
 * Mirrors k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go (RequiredNodeAffinity.Match).
 */

type Labels = Readonly<Record<string, string>>;

interface NodeChoice {
  readonly nodeSelector?: Labels | null;
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: {
        readonly nodeSelectorTerms?: readonly NodeSelectorTerm[];
      } | null;
    } | null;
  } | null;
}

/** nodeSelector, and at least one of the required terms of the node affinity where there are any. */
export function matchesRequiredNodeAffinity(pod: V1Pod, node: NodeObject): boolean {
  const { nodeSelector, affinity } = pod.spec as NodeChoice;
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(nodeSelector ?? {})) if (ownValue(labels, key) !== value) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? undefined;
  return (
    required === undefined || (required.nodeSelectorTerms ?? []).some((term) => matchesNodeSelectorTerm(term, node))
  );
}
