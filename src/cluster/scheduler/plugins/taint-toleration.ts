import type { Toleration } from "../../../staging/apimachinery/api/objects.js";
import { findUntoleratedTaint, tolerates } from "../../../staging/apimachinery/corev1/tolerations.js";
import { type FilterPlugin, NODE_EVENTS, normalizeScores, type ScorePlugin } from "../framework.js";

const FORBIDDING: ReadonlySet<string> = new Set(["NoSchedule", "NoExecute"]);

/**
 * Keeps pods off nodes with taints that they do not tolerate, and prefers nodes without PreferNoSchedule taints.
 * Mirrors pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go (Filter, Score, NormalizeScore).
 */
export const TAINT_TOLERATION: FilterPlugin & ScorePlugin = {
  name: "TaintToleration",
  events: NODE_EVENTS,
  weight: 3,
  filter({ pod }, { node }) {
    const taint = findUntoleratedTaint(node?.spec?.taints ?? [], pod.spec?.tolerations ?? [], FORBIDDING);
    if (taint === undefined) return undefined;
    return {
      code: "UnschedulableAndUnresolvable",
      plugin: "TaintToleration",
      reasons: [`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ""}}`],
    };
  },
  /** The number of PreferNoSchedule taints that the pod does not tolerate. */
  score({ pod }, { node }) {
    const taints = (node?.spec?.taints ?? []).filter(({ effect }) => effect === "PreferNoSchedule");
    if (taints.length === 0) return 0;
    const tolerations = (pod.spec?.tolerations ?? []).filter(isForPreference);
    return taints.filter((taint) => !tolerations.some((one) => tolerates(one, taint))).length;
  },
  normalize: (scores) => normalizeScores(scores, true),
};

/** Mirrors getAllTolerationPreferNoSchedule: tolerations without an effect cover all effects. */
function isForPreference({ effect = "" }: Toleration): boolean {
  return effect === "" || effect === "PreferNoSchedule";
}
