import type { NodeInfo, PodInfo } from "./node-info.js";

/**
 * Why a plugin says no. `Unschedulable`: taking pods off the node could help; `UnschedulableAndUnresolvable`: it could
 * not. Mirrors Code in pkg/scheduler/framework/interface.go.
 */
export interface Rejection {
  readonly code: "Unschedulable" | "UnschedulableAndUnresolvable";
  readonly plugin: string;
  readonly reasons: readonly string[];
}

/** Something happened that may make room. Mirrors pkg/scheduler/internal/queue/events.go. */
export type ClusterEvent =
  | "NodeAdd"
  | "NodeSpecUnschedulableChange"
  | "NodeAllocatableChange"
  | "NodeLabelChange"
  | "NodeTaintChange"
  | "NodeConditionChange"
  | "AssignedPodUpdate"
  | "AssignedPodDelete";

/** Any change of a node: what makes a plugin say yes may have come with an earlier change that another one hid. */
export const NODE_EVENTS: readonly ClusterEvent[] = [
  "NodeAdd",
  "NodeSpecUnschedulableChange",
  "NodeAllocatableChange",
  "NodeLabelChange",
  "NodeTaintChange",
  "NodeConditionChange",
];

/** Which nodes are looked at at all. */
export type PreFilterResult =
  | { readonly nodeNames: ReadonlySet<string> }
  | { readonly rejection: Rejection }
  /** all of them */
  | undefined;

/** May a pod run on a node? */
export interface FilterPlugin {
  /** upstream's name */
  readonly name: string;
  /** after which events a pod that this plugin rejected is worth another look */
  readonly events: readonly ClusterEvent[];
  /** @returns undefined: yes */
  filter(pod: PodInfo, node: NodeInfo): Rejection | undefined;
  preFilter?(pod: PodInfo): PreFilterResult;
}

/** Which node is best for a pod? */
export interface ScorePlugin {
  readonly name: string;
  /** how often its score counts */
  readonly weight: number;
  score(pod: PodInfo, node: NodeInfo): number;
  /** Makes 0 to 100 of what `score` gave for all nodes; absent: it is that already. */
  normalize?(scores: readonly number[]): readonly number[];
}

/** The most that a plugin gives to a node. */
export const MAX_NODE_SCORE = 100;

/**
 * Scales scores so that the highest becomes 100.
 * Mirrors DefaultNormalizeScore in pkg/scheduler/framework/plugins/helper/normalize_score.go. Pure.
 * @param reverse the lowest is best
 */
export function normalizeScores(scores: readonly number[], reverse: boolean): readonly number[] {
  const most = Math.max(0, ...scores);
  if (most === 0) return reverse ? scores.map(() => MAX_NODE_SCORE) : scores;
  return scores.map((score) => {
    const scaled = Math.floor((score * MAX_NODE_SCORE) / most);
    return reverse ? MAX_NODE_SCORE - scaled : scaled;
  });
}
