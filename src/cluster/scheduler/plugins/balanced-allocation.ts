import { MAX_NODE_SCORE, type ScorePlugin } from "../framework.js";

const RESOURCES = ["cpu", "memory"];

/**
 * Prefers nodes where cpu and memory are used to the same degree.
 * Mirrors pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go (balancedResourceScorer).
 */
export const BALANCED_ALLOCATION: ScorePlugin = {
  name: "NodeResourcesBalancedAllocation",
  weight: 1,
  score(pod, node) {
    const fractions: number[] = [];
    for (const resource of RESOURCES) {
      const allocatable = node.allocatable.get(resource) ?? 0;
      if (allocatable === 0) continue;
      const requested = (node.requested.get(resource) ?? 0) + (pod.requests.get(resource) ?? 0);
      fractions.push(Math.min(1, requested / allocatable));
    }
    const [first = 0, second = first] = fractions;
    return Math.trunc((1 - Math.abs(first - second) / 2) * MAX_NODE_SCORE);
  },
};
