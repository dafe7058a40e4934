import type { V1Condition, V1PodDisruptionBudget } from "@kubernetes/client-node";
import { withCondition } from "../api/pod.js";
import { rfc3339 } from "../time.js";
import type { Wire } from "../wire.js";

/** The condition of a budget, which the disruption controller and evictions write. Pure. */

export type PodDisruptionBudget = Wire<V1PodDisruptionBudget>;
export type PodDisruptionBudgetStatus = NonNullable<PodDisruptionBudget["status"]>;
type Condition = Wire<V1Condition>;

const DISRUPTION_ALLOWED = "DisruptionAllowed";

/**
 * The status with the condition DisruptionAllowed, computed from its number of allowed disruptions.
 * Mirrors UpdateDisruptionAllowedCondition in k8s.io/component-helpers/apps/poddisruptionbudget/helpers.go.
 */
export function withDisruptionAllowed(status: PodDisruptionBudgetStatus, nowMs: number): PodDisruptionBudgetStatus {
  return setCondition(status, status.disruptionsAllowed > 0 ? "SufficientPods" : "InsufficientPods", "", nowMs);
}

/** The status of a budget that could not be computed: it allows nothing. */
export function withSyncFailed(
  status: PodDisruptionBudgetStatus,
  message: string,
  nowMs: number,
): PodDisruptionBudgetStatus {
  return setCondition({ ...status, disruptionsAllowed: 0 }, "SyncFailed", message, nowMs);
}

/** Reports whether the condition matches the numbers. Mirrors ConditionsAreUpToDate in the same file as `withDisruptionAllowed`. */
export function conditionsAreUpToDate({ status }: PodDisruptionBudget): boolean {
  const condition = status?.conditions?.find(({ type }) => type === DISRUPTION_ALLOWED);
  if (status === undefined || condition === undefined) return false;
  if ((condition.observedGeneration ?? 0) !== (status.observedGeneration ?? 0)) return false;
  const [wanted, reason] = status.disruptionsAllowed > 0 ? ["True", "SufficientPods"] : ["False", "InsufficientPods"];
  return condition.status === wanted && condition.reason === reason;
}

/** Mirrors SetStatusCondition in k8s.io/apimachinery/pkg/api/meta/conditions.go. */
function setCondition(
  status: PodDisruptionBudgetStatus,
  reason: string,
  message: string,
  nowMs: number,
): PodDisruptionBudgetStatus {
  const { observedGeneration } = status;
  const lastTransitionTime = rfc3339(nowMs);
  const condition: Condition = {
    type: DISRUPTION_ALLOWED,
    status: reason === "SufficientPods" ? "True" : "False",
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    lastTransitionTime,
    reason,
    message,
  };
  return { ...status, conditions: withCondition(status.conditions, condition, lastTransitionTime) };
}
