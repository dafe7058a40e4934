import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import type { PodDisruptionBudget } from "../../../staging/apimachinery/policyv1/pod-disruption-budget.js";
import { matchesSelector } from "../../../staging/apimachinery/selector.js";
import type { PodInfo } from "../node-info.js";
import type { SchedulablePod } from "../objects.js";

/** The pods that could be preempted, by whether their budgets allow it. */
export interface GroupedVictims {
  readonly violating: readonly PodInfo[];
  readonly nonViolating: readonly PodInfo[];
}

/**
 * Groups pods, in their order: each one that a budget covers uses up one of the disruptions that it allows.
 * Mirrors filterPodsWithPDBViolation in pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go.
 */
export function filterPodsWithPdbViolation(
  pods: readonly PodInfo[],
  budgets: readonly PodDisruptionBudget[],
): GroupedVictims {
  const left = budgets.map(({ status }) => status?.disruptionsAllowed ?? 0);
  const violating: PodInfo[] = [];
  const nonViolating: PodInfo[] = [];
  for (const one of pods) {
    let isViolated = false;
    budgets.forEach((budget, i) => {
      if (!covers(budget, one.pod)) return;
      left[i] = (left[i] ?? 0) - 1;
      if ((left[i] ?? 0) < 0) isViolated = true;
    });
    (isViolated ? violating : nonViolating).push(one);
  }
  return { violating, nonViolating };
}

/** An evicted pod that is still there has been counted already. */
function covers({ metadata, spec, status }: PodDisruptionBudget, pod: SchedulablePod): boolean {
  const { namespace, labels = {} } = pod.metadata;
  if (metadata.namespace !== namespace || Object.keys(labels).length === 0) return false;
  const { matchLabels, matchExpressions } = spec?.selector ?? {};
  // Differs from an eviction: an empty selector covers no pod here.
  const isEmpty = Object.keys(matchLabels ?? {}).length + (matchExpressions ?? []).length === 0;
  return !isEmpty && matchesSelector(spec?.selector, labels) && status?.disruptedPods?.[nameOf(pod)] === undefined;
}
