import type { V1DeploymentCondition, V1ReplicaSetCondition } from "@kubernetes/client-node";
import { rfc3339 } from "../../../../staging/apimachinery/time.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";

/** Conditions of a Deployment. Mirrors pkg/controller/deployment/util/deployment_util.go. */

export type DeploymentCondition = Wire<V1DeploymentCondition>;
type Conditions = readonly DeploymentCondition[];

export const PROGRESSING = "Progressing";
export const AVAILABLE = "Available";
export const REPLICA_FAILURE = "ReplicaFailure";

/** Reasons of the condition Progressing, and of events. */
export const REASONS = {
  replicaSetUpdated: "ReplicaSetUpdated",
  failedCreate: "ReplicaSetCreateError",
  newReplicaSet: "NewReplicaSetCreated",
  foundNewReplicaSet: "FoundNewReplicaSet",
  newReplicaSetAvailable: "NewReplicaSetAvailable",
  timedOut: "ProgressDeadlineExceeded",
  paused: "DeploymentPaused",
  resumed: "DeploymentResumed",
} as const;

/** Mirrors NewDeploymentCondition. */
export function newCondition(
  type: string,
  status: "True" | "False" | "Unknown",
  reason: string,
  message: string,
  nowMs: number,
): DeploymentCondition {
  const now = rfc3339(nowMs);
  return { type, status, lastUpdateTime: now, lastTransitionTime: now, reason, message };
}

export function conditionOf(conditions: Conditions | undefined, type: string): DeploymentCondition | undefined {
  return conditions?.find((one) => one.type === type);
}

/** A condition with the same status and reason stays as it is. Mirrors SetDeploymentCondition. */
export function setCondition(conditions: Conditions, condition: DeploymentCondition): Conditions {
  const before = conditionOf(conditions, condition.type);
  if (before?.status === condition.status && before.reason === condition.reason) return conditions;
  const kept =
    before?.status === condition.status ? { ...condition, lastTransitionTime: before.lastTransitionTime } : condition;
  return [...removeCondition(conditions, condition.type), kept as DeploymentCondition];
}

export function removeCondition(conditions: Conditions, type: string): Conditions {
  return conditions.filter((one) => one.type !== type);
}

/** Mirrors ReplicaSetToDeploymentCondition. */
export function fromReplicaSet(condition: Wire<V1ReplicaSetCondition>): DeploymentCondition {
  const { lastTransitionTime } = condition;
  return { ...condition, lastUpdateTime: lastTransitionTime } as DeploymentCondition;
}
