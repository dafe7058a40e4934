import type { AffinityTerm, NamespaceLabels } from "../affinity-terms.js";
import {
  type ClusterFilterPlugin,
  type ClusterScorePlugin,
  MAX_NODE_SCORE,
  NODE_EVENTS,
  type NodeFilter,
  type Rejection,
  type Scorer,
} from "../framework.js";
import type { ClusterLookups } from "../lookups.js";
import type { NodeInfo, PodInfo } from "../node-info.js";
import { addPair, countOf, labelOf, type TopologyCounts } from "./topology.js";

const NAME = "InterPodAffinity";
/** The weight of a required affinity of an existing pod in the score. Mirrors HardPodAffinityWeight. */
const HARD_WEIGHT = 1;

function rejection(code: Rejection["code"], reason: string): Rejection {
  return { code, plugin: NAME, reasons: [reason] };
}

const AFFINITY = rejection("UnschedulableAndUnresolvable", "node(s) didn't match pod affinity rules");
const ANTI_AFFINITY = rejection("Unschedulable", "node(s) didn't match pod anti-affinity rules");
const EXISTING = rejection("Unschedulable", "node(s) didn't satisfy existing pods anti-affinity rules");

/**
 * Keeps a pod in the zones (or on the nodes) of the pods that it needs, and out of those of the pods that it avoids or
 * that avoid it. Preferred terms score.
 * Mirrors pkg/scheduler/framework/plugins/interpodaffinity/filtering.go and scoring.go.
 */
export function interPodAffinity({ namespaceLabels }: ClusterLookups): ClusterFilterPlugin & ClusterScorePlugin {
  return {
    name: NAME,
    weight: 2,
    events: [...NODE_EVENTS, "AssignedPodAdd", "AssignedPodUpdate", "AssignedPodDelete"],
    filterAmong: (pod, nodes) => filterAmong(pod, nodes, namespaceLabels),
    scoreAmong: (pod, _feasible, all) => scoreAmong(pod, all, namespaceLabels),
  };
}

/** Mirrors PreFilter (getExistingAntiAffinityCounts, getIncomingAffinityAntiAffinityCounts) and Filter. */
function filterAmong(
  { pod, affinity }: PodInfo,
  nodes: readonly NodeInfo[],
  labelsOf: NamespaceLabels,
): NodeFilter | undefined {
  const required = affinity?.required ?? [];
  const requiredAnti = affinity?.requiredAnti ?? [];
  const looksAtAll = required.length + requiredAnti.length > 0;
  const matches = (terms: readonly AffinityTerm[], other: PodInfo) =>
    terms.filter((one) => one.matches(other.pod, labelsOf));
  const needed: TopologyCounts = new Map();
  const avoided: TopologyCounts = new Map();
  const avoidingUs: TopologyCounts = new Map();
  for (const node of nodes) {
    if (!looksAtAll && node.podsWithAffinity.size === 0) continue;
    for (const existing of node.podsWithAffinity.values()) {
      for (const term of existing.affinity?.requiredAnti ?? []) {
        if (term.matches(pod, labelsOf)) addPair(avoidingUs, node, term.topologyKey, 1);
      }
    }
    if (!looksAtAll) continue;
    for (const existing of node.pods.values()) {
      // A pod counts only if it matches all terms.
      if (matches(required, existing).length === required.length) {
        for (const { topologyKey } of required) addPair(needed, node, topologyKey, 1);
      }
      for (const { topologyKey } of matches(requiredAnti, existing)) addPair(avoided, node, topologyKey, 1);
    }
  }
  if (!looksAtAll && avoidingUs.size === 0) return undefined;
  // Otherwise the first pod of a group with affinity to itself could never be scheduled.
  const isFirst = needed.size === 0 && required.every((one) => one.matches(pod, labelsOf));
  return (node) => {
    if (required.some(({ topologyKey }) => labelOf(node, topologyKey) === undefined)) return AFFINITY;
    if (!isFirst && required.some(({ topologyKey }) => countOf(needed, node, topologyKey) === 0)) return AFFINITY;
    if (requiredAnti.some(({ topologyKey }) => countOf(avoided, node, topologyKey) > 0)) return ANTI_AFFINITY;
    return [...avoidingUs.keys()].some((topologyKey) => countOf(avoidingUs, node, topologyKey) > 0)
      ? EXISTING
      : undefined;
  };
}

/** Mirrors PreScore (processExistingPod), Score and NormalizeScore. */
function scoreAmong(incoming: PodInfo, all: readonly NodeInfo[], labelsOf: NamespaceLabels): Scorer | undefined {
  const preferred = incoming.affinity?.preferred ?? [];
  const preferredAnti = incoming.affinity?.preferredAnti ?? [];
  const hasPreference = preferred.length + preferredAnti.length > 0;
  const sums: TopologyCounts = new Map();
  for (const node of all) {
    if (!hasPreference && node.podsWithAffinity.size === 0) continue;
    const add = (terms: readonly AffinityTerm[], about: PodInfo, sign: 1 | -1, fixedWeight?: number) => {
      for (const term of terms) {
        if (term.matches(about.pod, labelsOf))
          addPair(sums, node, term.topologyKey, sign * (fixedWeight ?? term.weight));
      }
    };
    for (const existing of (hasPreference ? node.pods : node.podsWithAffinity).values()) {
      add(preferred, existing, 1);
      add(preferredAnti, existing, -1);
      if (existing.affinity === undefined) continue;
      add(existing.affinity.required, incoming, 1, HARD_WEIGHT);
      add(existing.affinity.preferred, incoming, 1);
      add(existing.affinity.preferredAnti, incoming, -1);
    }
  }
  if (sums.size === 0) return undefined;
  return {
    score: (_pod, node) => [...sums.keys()].reduce((sum, topologyKey) => sum + countOf(sums, node, topologyKey), 0),
    normalize: stretched,
  };
}

/** The lowest score becomes 0 and the highest 100. */
function stretched(scores: readonly number[]): readonly number[] {
  const least = Math.min(...scores);
  const range = Math.max(...scores) - least;
  return scores.map((score) => (range === 0 ? 0 : Math.trunc((MAX_NODE_SCORE * (score - least)) / range)));
}
