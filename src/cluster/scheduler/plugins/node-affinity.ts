import {
  matchesNodeSelectorTerm,
  matchesRequiredNodeAffinity,
  type NodeSelectorTerm,
} from "../../../staging/apimachinery/corev1/node-affinity.js";
import {
  type FilterPlugin,
  NODE_EVENTS,
  normalizeScores,
  type PreFilterResult,
  type Rejection,
  type ScorePlugin,
} from "../framework.js";
import type { SchedulablePod } from "../objects.js";

const NAME = "NodeAffinity";

function rejection(reason: string): Rejection {
  return { code: "UnschedulableAndUnresolvable", plugin: NAME, reasons: [reason] };
}

const NO_MATCH = rejection("node(s) didn't match Pod's node affinity/selector");
const CONFLICT = rejection("pod affinity terms conflict");

/**
 * nodeSelector and node affinity: the required part filters, the preferred part scores.
 * Mirrors pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go (PreFilter, Filter, Score).
 */
export const NODE_AFFINITY: FilterPlugin & ScorePlugin = {
  name: NAME,
  events: NODE_EVENTS,
  weight: 2,
  preFilter: ({ pod }) => namedNodes(pod),
  skips: ({ pod }) => pod.spec?.nodeSelector === undefined && pod.spec?.affinity?.nodeAffinity === undefined,
  filter({ pod }, { node }) {
    return node !== undefined && matchesRequiredNodeAffinity(pod.spec, node) ? undefined : NO_MATCH;
  },
  score({ pod }, { node }) {
    const preferred = pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    let sum = 0;
    for (const { weight, preference } of preferred) {
      if (node !== undefined && matchesNodeSelectorTerm(preference, node)) sum += weight;
    }
    return sum;
  },
  normalize: (scores) => normalizeScores(scores, false),
};

/** The nodes that every required term names, as daemon sets do. Only these are checked. */
function namedNodes(pod: SchedulablePod): PreFilterResult {
  const terms =
    pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  if (terms.length === 0) return undefined;
  const nodeNames = new Set<string>();
  for (const term of terms) {
    const names = namesOf(term);
    if (names === undefined) return undefined;
    if (names.length === 0) return { rejection: CONFLICT };
    for (const name of names) nodeNames.add(name);
  }
  return { nodeNames };
}

/** @returns undefined if the term names no node, so that any node can match */
function namesOf({ matchFields = [] }: NodeSelectorTerm): readonly string[] | undefined {
  const lists = matchFields
    .filter(({ key, operator }) => key === "metadata.name" && operator === "In")
    .map(({ values = [] }) => values);
  const [first, ...others] = lists;
  return first?.filter((name) => others.every((list) => list.includes(name)));
}
