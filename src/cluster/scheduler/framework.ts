import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { NodeInfo, PodInfo } from "./node-info.js";

/** Binds a pod to a node through the API server. @throws StatusError */
export type Binder = (pod: KubeObject, nodeName: string) => Promise<void>;

/**
 * Why a plugin rejects a node. `Unschedulable`: removing pods from the node could help; `UnschedulableAndUnresolvable`:
 * it could not. Mirrors Code in pkg/scheduler/framework/interface.go.
 */
export interface Rejection {
  readonly code: "Unschedulable" | "UnschedulableAndUnresolvable";
  readonly plugin: string;
  readonly reasons: readonly string[];
}

/** A change that can make room for a pod. Mirrors pkg/scheduler/internal/queue/events.go. */
export type ClusterEvent =
  | "NodeAdd"
  | "NodeSpecUnschedulableChange"
  | "NodeAllocatableChange"
  | "NodeLabelChange"
  | "NodeTaintChange"
  | "NodeConditionChange"
  | "AssignedPodAdd"
  | "AssignedPodUpdate"
  | "AssignedPodDelete"
  | "PvcAdd"
  | "PvcUpdate"
  | "PvAdd"
  | "PvUpdate"
  | "StorageClassAdd"
  | "StorageClassUpdate";

/** Any change of a node. Plugins register for all, because another change can hide the one that they need. */
export const NODE_EVENTS: readonly ClusterEvent[] = [
  "NodeAdd",
  "NodeSpecUnschedulableChange",
  "NodeAllocatableChange",
  "NodeLabelChange",
  "NodeTaintChange",
  "NodeConditionChange",
];

/** The nodes that the filters check. */
export type PreFilterResult =
  | { readonly nodeNames: ReadonlySet<string> }
  | { readonly rejection: Rejection }
  /** all nodes */
  | undefined;

/** Decides whether a pod fits on a node. */
export interface FilterPlugin {
  /** upstream's name */
  readonly name: string;
  /** the events after which a pod that this plugin rejected is tried again */
  readonly events: readonly ClusterEvent[];
  /** @returns undefined if the pod fits */
  filter(pod: PodInfo, node: NodeInfo): Rejection | undefined;
  /** Reports that the pod fits on every node as far as this plugin is concerned. Mirrors the status Skip of PreFilter (since v1.26). */
  skips?(pod: PodInfo): boolean;
  preFilter?(pod: PodInfo): PreFilterResult;
}

/** What a pod has on its node before it is bound there. */
export interface Reservation {
  /** Resolves when the pod can be bound. @throws why it cannot */
  preBind(signal: AbortSignal): Promise<void>;
  /** The pod is bound, or will not be. */
  release(): void;
}

/** Prepares the chosen node for a pod. Mirrors ReservePlugin and PreBindPlugin. */
export interface PreBindPlugin {
  readonly name: string;
  /** @returns undefined if there is nothing to wait for */
  reserve(pod: PodInfo, node: NodeInfo): Reservation | undefined;
}

/** Decides about one node within a cycle. @returns undefined if the pod fits */
export type NodeFilter = (node: NodeInfo) => Rejection | undefined;

/** Decides by what runs on other nodes as well. */
export interface ClusterFilterPlugin extends Pick<FilterPlugin, "name" | "events"> {
  /**
   * Counts the pods of all nodes once. Mirrors PreFilter.
   * @returns undefined if the pod fits on every node as far as this plugin is concerned
   */
  filterAmong(pod: PodInfo, nodes: readonly NodeInfo[]): NodeFilter | undefined;
}

/** Rates how good a node is for a pod. */
export interface ScorePlugin {
  readonly name: string;
  /** factor for its score */
  readonly weight: number;
  score(pod: PodInfo, node: NodeInfo): number;
  /** Scales the scores of all nodes to 0 to 100; absent: `score` returns that range already. */
  normalize?(scores: readonly number[]): readonly number[];
}

/** Rates the nodes of one cycle. */
export type Scorer = Pick<ScorePlugin, "score" | "normalize">;

/** Rates by what runs on other nodes as well. */
export interface ClusterScorePlugin extends Pick<ScorePlugin, "name" | "weight"> {
  /**
   * Mirrors PreScore.
   * @param feasible the nodes that it will rate
   * @returns undefined if all nodes are equal
   */
  scoreAmong(pod: PodInfo, feasible: readonly NodeInfo[], all: readonly NodeInfo[]): Scorer | undefined;
}

/** The highest score that a plugin gives to a node. */
export const MAX_NODE_SCORE = 100;

/**
 * Scales scores so that the highest becomes 100.
 * Mirrors DefaultNormalizeScore in pkg/scheduler/framework/plugins/helper/normalize_score.go. Pure.
 * @param reverse the lowest score is the best
 */
export function normalizeScores(scores: readonly number[], reverse: boolean): readonly number[] {
  const most = Math.max(0, ...scores);
  if (most === 0) return reverse ? scores.map(() => MAX_NODE_SCORE) : scores;
  return scores.map((score) => {
    const scaled = Math.floor((score * MAX_NODE_SCORE) / most);
    return reverse ? MAX_NODE_SCORE - scaled : scaled;
  });
}
