import type { V1TopologySpreadConstraint } from "@kubernetes/client-node";
import { matchesRequiredNodeAffinity } from "../../../staging/apimachinery/corev1/node-affinity.js";
import { labelSelectorAsSelector } from "../../../staging/apimachinery/selector.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import {
  type ClusterFilterPlugin,
  type ClusterScorePlugin,
  MAX_NODE_SCORE,
  NODE_EVENTS,
  type NodeFilter,
  type Rejection,
  type Scorer,
} from "../framework.js";
import type { ClusterLookups, PodSelector } from "../lookups.js";
import type { NodeInfo, PodInfo } from "../node-info.js";
import type { SchedulablePod } from "../objects.js";
import { addPair, countOf, labelOf, type TopologyCounts } from "./topology.js";

const NAME = "PodTopologySpread";
const HOSTNAME = "kubernetes.io/hostname";
const SKEW: Rejection = {
  code: "Unschedulable",
  plugin: NAME,
  reasons: ["node(s) didn't match pod topology spread constraints"],
};
const NO_LABEL: Rejection = {
  code: "UnschedulableAndUnresolvable",
  plugin: NAME,
  reasons: ["node(s) didn't match pod topology spread constraints (missing required label)"],
};

interface Constraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly selects: PodSelector;
  readonly podsOn: PodCount;
}

/** The number of a node's pods that a constraint selects. */
type PodCount = (node: NodeInfo) => number;

/** For the pods of a Service or controller without constraints of their own. Mirrors systemDefaultConstraints. */
const SYSTEM_DEFAULTS = [
  { topologyKey: HOSTNAME, maxSkew: 3 },
  { topologyKey: "topology.kubernetes.io/zone", maxSkew: 5 },
];

/**
 * Spreads pods over zones, hosts or other parts of a cluster: DoNotSchedule filters, ScheduleAnyway scores.
 * Mirrors pkg/scheduler/framework/plugins/podtopologyspread/filtering.go, scoring.go and common.go.
 *
 * @param options.minDomains `minDomains` of a constraint counts (since v1.27)
 */
export function podTopologySpread(
  lookups: Pick<ClusterLookups, "defaultSelector">,
  options: { readonly minDomains: boolean },
): ClusterFilterPlugin & ClusterScorePlugin {
  return {
    name: NAME,
    weight: 2,
    events: [...NODE_EVENTS, "AssignedPodAdd", "AssignedPodUpdate", "AssignedPodDelete"],
    filterAmong(pod, nodes) {
      const hard = constraintsOf(pod.pod, "DoNotSchedule", options);
      return hard.length === 0 ? undefined : filterAmong(pod, hard, nodes);
    },
    scoreAmong(pod, feasible, all) {
      const own = constraintsOf(pod.pod, "ScheduleAnyway", options);
      const hasOwn = (pod.pod.spec?.topologySpreadConstraints ?? []).length > 0;
      const soft = hasOwn ? own : defaultConstraints(pod.pod, lookups.defaultSelector(pod.pod));
      return soft.length === 0 ? undefined : scoreAmong(pod, soft, { feasible, all, needsAllKeys: hasOwn });
    },
  };
}

function constraintsOf(
  { spec, metadata: { namespace } }: SchedulablePod,
  action: Wire<V1TopologySpreadConstraint>["whenUnsatisfiable"],
  options: { readonly minDomains: boolean },
): Constraint[] {
  return (spec?.topologySpreadConstraints ?? [])
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === action)
    .map(({ topologyKey, maxSkew, minDomains, labelSelector }) => {
      const selects = labelSelectorAsSelector(labelSelector);
      const podsOn = countPodsMatchSelector(selects, namespace);
      return { topologyKey, maxSkew, minDomains: options.minDomains ? (minDomains ?? 1) : 1, selects, podsOn };
    });
}

function defaultConstraints({ metadata }: SchedulablePod, selects: PodSelector | undefined): Constraint[] {
  if (selects === undefined) return [];
  const podsOn = countPodsMatchSelector(selects, metadata.namespace);
  return SYSTEM_DEFAULTS.map((one) => ({ ...one, minDomains: 1, selects, podsOn }));
}

/** Counts pods of the namespace that stay. Nodes have pods of the same workloads, so the labels of each are checked once. */
function countPodsMatchSelector(selects: PodSelector, namespace: string | undefined): PodCount {
  const known = new Map<string, boolean>();
  return ({ labelGroups }) => {
    let sum = 0;
    for (const [labelsKey, group] of labelGroups) {
      let isMatch = known.get(labelsKey);
      if (isMatch === undefined) {
        isMatch = group.namespace === namespace && selects(group.labels);
        known.set(labelsKey, isMatch);
      }
      if (isMatch) sum += group.count;
    }
    return sum;
  };
}

/** Mirrors calPreFilterState and Filter. */
function filterAmong({ pod }: PodInfo, constraints: readonly Constraint[], nodes: readonly NodeInfo[]): NodeFilter {
  const hasAllKeys = withKeys(constraints);
  const counts = constraints.map((): TopologyCounts => new Map());
  for (const node of nodes) {
    if (!isCounted(pod, node) || !hasAllKeys(node)) continue;
    constraints.forEach((constraint, i) => {
      addPair(counts[i] ?? new Map(), node, constraint.topologyKey, constraint.podsOn(node));
    });
  }
  const least = constraints.map(({ topologyKey, minDomains }, i) => {
    const domains = [...(counts[i]?.get(topologyKey)?.values() ?? [])];
    return domains.length < minDomains ? 0 : Math.min(...domains);
  });
  return (node) => {
    for (const [i, { topologyKey, maxSkew, selects }] of constraints.entries()) {
      if (labelOf(node, topologyKey) === undefined) return NO_LABEL;
      const self = selects(pod.metadata.labels) ? 1 : 0;
      if (countOf(counts[i] ?? new Map(), node, topologyKey) + self - (least[i] ?? 0) > maxSkew) return SKEW;
    }
    return undefined;
  };
}

interface Candidates {
  readonly feasible: readonly NodeInfo[];
  readonly all: readonly NodeInfo[];
  /** a node without one of the labels gets the lowest score; otherwise only that constraint ignores it */
  readonly needsAllKeys: boolean;
}

/** The score of a node that lacks a label. */
const IGNORED = -1;

/** Mirrors PreScore, Score and NormalizeScore. */
function scoreAmong(
  { pod }: PodInfo,
  constraints: readonly Constraint[],
  { feasible, all, needsAllKeys }: Candidates,
): Scorer {
  const hasAllKeys = withKeys(constraints);
  const isIgnored = (node: NodeInfo) => needsAllKeys && !hasAllKeys(node);
  const rated = feasible.filter((node) => !isIgnored(node));
  const counts = constraints.map(({ topologyKey }) => {
    const zeros: TopologyCounts = new Map();
    if (topologyKey !== HOSTNAME) for (const node of rated) addPair(zeros, node, topologyKey, 0);
    return zeros;
  });
  const weights = constraints.map(({ topologyKey }, i) => {
    const size = topologyKey === HOSTNAME ? rated.length : (counts[i]?.get(topologyKey)?.size ?? 0);
    return Math.log(size + 2);
  });
  // Hosts are counted when they are rated, and nodes without the label do not count.
  const isLabeled = constraints.map(({ topologyKey }, i) => topologyKey === HOSTNAME || (counts[i]?.size ?? 0) > 0);
  for (const node of counts.some(({ size }) => size > 0) ? all : []) {
    if (!isCounted(pod, node) || isIgnored(node)) continue;
    constraints.forEach((constraint, i) => {
      const values = counts[i]?.get(constraint.topologyKey);
      const value = labelOf(node, constraint.topologyKey);
      if (value === undefined || values?.has(value) !== true) return;
      values.set(value, (values.get(value) ?? 0) + constraint.podsOn(node));
    });
  }
  return {
    score(_pod, node) {
      if (isIgnored(node)) return IGNORED;
      let sum = 0;
      for (let i = 0; i < constraints.length; i++) {
        const constraint = constraints[i];
        if (constraint === undefined || isLabeled[i] !== true) continue;
        const { topologyKey, maxSkew, podsOn } = constraint;
        if (labelOf(node, topologyKey) === undefined) continue;
        const count = topologyKey === HOSTNAME ? podsOn(node) : countOf(counts[i] ?? new Map(), node, topologyKey);
        sum += count * (weights[i] ?? 0) + (maxSkew - 1);
      }
      return Math.round(sum);
    },
    normalize: fewestFirst,
  };
}

/** The fewest pods score best. */
function fewestFirst(scores: readonly number[]): readonly number[] {
  const valid = scores.filter((score) => score !== IGNORED);
  const most = Math.max(0, ...valid);
  const least = Math.min(...valid);
  return scores.map((score) => {
    if (score === IGNORED) return 0;
    return most === 0 ? MAX_NODE_SCORE : Math.trunc((MAX_NODE_SCORE * (most + least - score)) / most);
  });
}

function withKeys(constraints: readonly Constraint[]): (node: NodeInfo) => boolean {
  return (node) => constraints.every(({ topologyKey }) => labelOf(node, topologyKey) !== undefined);
}

/** Nodes that the pod's node affinity excludes do not count. */
function isCounted(pod: SchedulablePod, { node }: NodeInfo): boolean {
  return node !== undefined && matchesRequiredNodeAffinity(pod.spec, node);
}
