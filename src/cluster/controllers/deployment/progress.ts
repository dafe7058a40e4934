import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import type { DeploymentPass } from "./pass.js";
import { calculateStatus, type Sets } from "./sync.js";
import {
  conditionOf,
  type DeploymentCondition,
  fromReplicaSet,
  newCondition,
  PROGRESSING,
  REASONS,
  REPLICA_FAILURE,
  removeCondition,
  setCondition,
} from "./util/conditions.js";
import {
  type Deployment,
  type DeploymentStatus,
  deploymentComplete,
  deploymentProgressing,
  progressDeadlineSeconds,
} from "./util/deployment-util.js";

/**
 * Writes the status during a rollout: counts, and whether it makes progress.
 * Mirrors pkg/controller/deployment/progress.go (syncRolloutStatus).
 */
export async function syncRolloutStatus(pass: DeploymentPass, sets: Sets): Promise<void> {
  const { deployment } = pass;
  const counted = calculateStatus(pass, sets);
  let conditions = counted.conditions ?? [];
  if (progressDeadlineSeconds(deployment) === undefined) conditions = removeCondition(conditions, PROGRESSING);
  else conditions = withProgress(pass, counted, conditions, sets);
  const failure = replicaFailure(sets);
  conditions = failure === undefined ? removeCondition(conditions, REPLICA_FAILURE) : setCondition(conditions, failure);
  await pass.writeStatus({ ...counted, conditions }, "syncRolloutStatus");
}

function withProgress(
  { deployment, nowMs }: DeploymentPass,
  status: DeploymentStatus,
  conditions: readonly DeploymentCondition[],
  { newSet }: Sets,
): readonly DeploymentCondition[] {
  const current = conditionOf(deployment.status?.conditions, PROGRESSING);
  // A complete rollout stays complete, whatever happens to its pods.
  const isComplete = (status.replicas ?? 0) === (status.updatedReplicas ?? 0);
  if (isComplete && current?.reason === REASONS.newReplicaSetAvailable) return conditions;
  const subject = newSet === undefined ? `Deployment "${nameOf(deployment)}"` : `ReplicaSet "${nameOf(newSet)}"`;
  if (deploymentComplete(deployment, status)) {
    const message = `${subject} has successfully progressed.`;
    return setCondition(conditions, newCondition(PROGRESSING, "True", REASONS.newReplicaSetAvailable, message, nowMs));
  }
  if (deploymentProgressing(deployment, status)) {
    const message = `${subject} is progressing.`;
    const condition = newCondition(PROGRESSING, "True", REASONS.replicaSetUpdated, message, nowMs);
    // Each progress moves lastUpdateTime, from which the deadline counts, also if the reason stays.
    const kept =
      current?.status === "True" ? { ...condition, lastTransitionTime: current.lastTransitionTime } : condition;
    return setCondition(removeCondition(conditions, PROGRESSING), kept as DeploymentCondition);
  }
  if (!deploymentTimedOut(deployment, status, nowMs)) return conditions;
  const message = `${subject} has timed out progressing.`;
  return setCondition(conditions, newCondition(PROGRESSING, "False", REASONS.timedOut, message, nowMs));
}

function deploymentTimedOut(deployment: Deployment, status: DeploymentStatus, nowMs: number): boolean {
  const condition = conditionOf(status.conditions, PROGRESSING);
  if (condition === undefined || condition.reason === REASONS.newReplicaSetAvailable) return false;
  if (condition.reason === REASONS.timedOut) return true;
  return deadlineMs(deployment, condition) < nowMs;
}

function deadlineMs(deployment: Deployment, { lastUpdateTime }: DeploymentCondition): number {
  return Date.parse(lastUpdateTime ?? "") + (progressDeadlineSeconds(deployment) ?? 0) * 1000;
}

/** The failure of the new set, or else of an old one. Mirrors getReplicaFailures. */
function replicaFailure({ newSet, oldSets }: Sets): DeploymentCondition | undefined {
  for (const set of [newSet, ...oldSets]) {
    const failure = set?.status?.conditions?.find(({ type }) => type === REPLICA_FAILURE);
    if (failure !== undefined) return fromReplicaSet(failure);
  }
  return undefined;
}

/**
 * When to look again whether an unfinished rollout exceeded its deadline, for which no watch event comes.
 * Mirrors requeueStuckDeployment.
 * Differs: waits for a deadline that is near; upstream requeues repeatedly.
 * @returns ms; undefined if it need not be looked at
 */
export function progressCheckMs(deployment: Deployment, nowMs: number): number | undefined {
  const { status = {} } = deployment;
  const condition = conditionOf(status.conditions, PROGRESSING);
  if (progressDeadlineSeconds(deployment) === undefined || condition === undefined) return undefined;
  if (deploymentComplete(deployment, status) || condition.reason === REASONS.timedOut) return undefined;
  // One more second, because the time of a condition has no fraction.
  return Math.max(0, deadlineMs(deployment, condition) - nowMs) + 1000;
}
