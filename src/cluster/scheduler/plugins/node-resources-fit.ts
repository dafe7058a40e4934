import { insufficientResources } from "../../../staging/apimachinery/corev1/fit.js";
import { type FilterPlugin, MAX_NODE_SCORE, NODE_EVENTS, type Rejection, type ScorePlugin } from "../framework.js";
import type { NodeInfo, PodInfo } from "../node-info.js";

const NAME = "NodeResourcesFit";
/** The resources that LeastAllocated scores, each with weight 1. */
const SCORED = ["cpu", "memory"];

/**
 * A pod fits when the node has enough free resources and accepts one more pod; the emptiest node scores best.
 *
 * Mirrors pkg/scheduler/framework/plugins/noderesources/fit.go (Filter, fitsRequest) and least_allocated.go
 * (leastResourceScorer), the default scoring strategy.
 *
 * @param options.tooBigIsUnresolvable requesting more than the whole node has is unresolvable (since v1.34)
 */
export function nodeResourcesFit(options: { readonly tooBigIsUnresolvable: boolean }): FilterPlugin & ScorePlugin {
  return {
    name: NAME,
    events: [...NODE_EVENTS, "AssignedPodDelete", "AssignedPodUpdate"],
    weight: 1,
    filter(pod, node) {
      const lacking = insufficientResources(pod.requests, node);
      if (lacking.length === 0) return undefined;
      const isTooBig = lacking.some(({ requested, capacity }) => requested > capacity);
      return rejection(
        lacking.map(({ resource }) => (resource === "pods" ? "Too many pods" : `Insufficient ${resource}`)),
        isTooBig && options.tooBigIsUnresolvable,
      );
    },
    score: leastAllocated,
  };
}

function rejection(reasons: readonly string[], isUnresolvable: boolean): Rejection {
  return { code: isUnresolvable ? "UnschedulableAndUnresolvable" : "Unschedulable", plugin: NAME, reasons };
}

/** Reports whether a pod fits, without the reasons. */
export function fits(pod: PodInfo, node: NodeInfo): boolean {
  return insufficientResources(pod.requests, node).length === 0;
}

/** The mean of the percentages of cpu and memory that stay free with the pod. Integers throughout, as upstream. */
function leastAllocated(pod: PodInfo, node: NodeInfo): number {
  let sum = 0;
  let weights = 0;
  for (const resource of SCORED) {
    const allocatable = node.allocatable.get(resource) ?? 0;
    if (allocatable === 0) continue;
    const requested = (node.nonZeroRequested.get(resource) ?? 0) + (pod.nonZero.get(resource) ?? 0);
    weights++;
    if (requested <= allocatable) sum += Math.floor(((allocatable - requested) * MAX_NODE_SCORE) / allocatable);
  }
  return weights === 0 ? 0 : Math.floor(sum / weights);
}
