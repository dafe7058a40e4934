import { type FilterPlugin, MAX_NODE_SCORE, NODE_EVENTS, type Rejection, type ScorePlugin } from "../framework.js";
import type { NodeInfo, PodInfo } from "../node-info.js";

const NAME = "NodeResourcesFit";
/** Every pod is held against these, whether it asks for them or not. */
const ALWAYS = ["cpu", "memory", "ephemeral-storage"];
/** What LeastAllocated weighs, each once. */
const SCORED = ["cpu", "memory"];

/**
 * A pod fits when what it asks for is left, and the node may have one more pod; the emptiest node is best.
 *
 * Mirrors pkg/scheduler/framework/plugins/noderesources/fit.go (Filter, fitsRequest) and least_allocated.go
 * (leastResourceScorer), the default scoring strategy.
 *
 * @param options.tooBigIsUnresolvable more than the whole node has is told from more than it has left (since v1.34)
 */
export function nodeResourcesFit(options: { readonly tooBigIsUnresolvable: boolean }): FilterPlugin & ScorePlugin {
  return {
    name: NAME,
    events: [...NODE_EVENTS, "AssignedPodDelete", "AssignedPodUpdate"],
    weight: 1,
    filter(pod, node) {
      const { reasons, isTooBig } = shortages(pod, node);
      if (reasons.length === 0) return undefined;
      return rejection(reasons, isTooBig && options.tooBigIsUnresolvable);
    },
    score: leastAllocated,
  };
}

function rejection(reasons: readonly string[], isUnresolvable: boolean): Rejection {
  return { code: isUnresolvable ? "UnschedulableAndUnresolvable" : "Unschedulable", plugin: NAME, reasons };
}

/** Whether a pod fits, for who needs no reasons. */
export function fits(pod: PodInfo, node: NodeInfo): boolean {
  return shortages(pod, node).reasons.length === 0;
}

function shortages(pod: PodInfo, node: NodeInfo): { readonly reasons: readonly string[]; readonly isTooBig: boolean } {
  const reasons: string[] = [];
  let isTooBig = false;
  const allowedPods = node.allocatable.get("pods") ?? 0;
  if (node.pods.size + 1 > allowedPods) {
    reasons.push("Too many pods");
    isTooBig = allowedPods < 1;
  }
  if (![...pod.requests.values()].some((amount) => amount > 0)) return { reasons, isTooBig };
  for (const resource of new Set([...ALWAYS, ...pod.requests.keys()])) {
    const wanted = pod.requests.get(resource) ?? 0;
    if (wanted <= node.free(resource)) continue;
    reasons.push(`Insufficient ${resource}`);
    if (wanted > (node.allocatable.get(resource) ?? 0)) isTooBig = true;
  }
  return { reasons, isTooBig };
}

/** How much would be left with the pod, in percent, over cpu and memory. Integers throughout, as upstream. */
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
