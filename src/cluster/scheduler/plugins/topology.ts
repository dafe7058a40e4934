import type { NodeInfo } from "../node-info.js";

/** topology key (`topology.kubernetes.io/zone`) -> value of the nodes' label -> count */
export type TopologyCounts = Map<string, Map<string, number>>;

export function labelOf({ labels }: NodeInfo, topologyKey: string): string | undefined {
  return labels.get(topologyKey);
}

/** Adds to the count of the node's part of the cluster. A node without the label belongs to no part. */
export function addPair(counts: TopologyCounts, node: NodeInfo, topologyKey: string, count: number): void {
  const value = labelOf(node, topologyKey);
  if (value === undefined) return;
  const byValue = counts.get(topologyKey) ?? new Map<string, number>();
  counts.set(topologyKey, byValue.set(value, (byValue.get(value) ?? 0) + count));
}

/** The count of the node's part of the cluster; 0 for a node without the label. */
export function countOf(counts: TopologyCounts, node: NodeInfo, topologyKey: string): number {
  return counts.get(topologyKey)?.get(labelOf(node, topologyKey) ?? "") ?? 0;
}
