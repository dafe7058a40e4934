import { byCreationTimestamp } from "../../../staging/apimachinery/api/objects.js";

import { counted } from "../../../util/text/counted.js";
import type { ReplicaSet } from "../replicaset/replica-set-utils.js";
import type { DeploymentPass } from "./pass.js";
import { syncRolloutStatus } from "./progress.js";
import { cleanupDeployment, type Sets } from "./sync.js";
import {
  activeReplicaSets,
  deploymentComplete,
  maxSurge,
  maxUnavailable,
  newReplicaSetReplicas,
  replicasOf,
  statusCount,
  wantedCount,
} from "./util/deployment-util.js";

const FILE = "rolling.go";

/**
 * One step of a rolling update: grows the new set as far as maxSurge allows; else shrinks old sets as far as maxUnavailable allows.
 * Mirrors pkg/controller/deployment/rolling.go (rolloutRolling).
 */
export async function rolloutRolling(
  pass: DeploymentPass,
  sets: Sets & { readonly newSet: ReplicaSet },
): Promise<void> {
  const { newSet, oldSets } = sets;
  const hasScaled =
    (await reconcileNewReplicaSet(pass, newSet, [...oldSets, newSet])) ||
    (await reconcileOldReplicaSets(pass, newSet, oldSets));
  if (!hasScaled && deploymentComplete(pass.deployment, pass.deployment.status ?? {})) {
    await cleanupDeployment(pass, oldSets);
  }
  await syncRolloutStatus(pass, sets);
}

async function reconcileNewReplicaSet(
  pass: DeploymentPass,
  newSet: ReplicaSet,
  all: readonly ReplicaSet[],
): Promise<boolean> {
  const { deployment } = pass;
  const replicas = replicasOf(deployment);
  const size = replicasOf(newSet);
  if (size === replicas) return false;
  const by = { file: FILE, func: "reconcileNewReplicaSet" };
  if (size > replicas) {
    const why = `the Deployment wants ${replicas} replicas`;
    return (await pass.scaleIfNeeded(newSet, replicas, { ...by, why })).isScaled;
  }
  const most = replicas + maxSurge(deployment);
  const why = `at most ${counted(most, "pod")} may exist (${replicas} replicas, maxSurge ${most - replicas}), ${wantedCount(all)} do`;
  const next = newReplicaSetReplicas(deployment, all, size);
  return (await pass.scaleIfNeeded(newSet, next, { ...by, why })).isScaled;
}

async function reconcileOldReplicaSets(
  pass: DeploymentPass,
  newSet: ReplicaSet,
  oldSets: readonly ReplicaSet[],
): Promise<boolean> {
  const { deployment } = pass;
  const active = activeReplicaSets(oldSets).sort(byCreationTimestamp);
  if (active.length === 0) return false;
  const minAvailable = replicasOf(deployment) - maxUnavailable(deployment);
  // Unavailable pods of the new set do not replace old pods.
  const newUnavailable = replicasOf(newSet) - (newSet.status?.availableReplicas ?? 0);
  const all = wantedCount([...oldSets, newSet]);
  const mostScaledDown = all - minAvailable - newUnavailable;
  if (mostScaledDown <= 0) return false;
  const cleaned = await cleanupUnhealthyReplicas(pass, active, mostScaledDown);
  const scaledDown = await scaleDownOldReplicaSets(pass, cleaned.sets, newSet, minAvailable);
  return cleaned.count + scaledDown > 0;
}

/** Pods that are not available do not help: they go first, and never block the rollout. */
async function cleanupUnhealthyReplicas(
  pass: DeploymentPass,
  oldSets: readonly ReplicaSet[],
  most: number,
): Promise<{ readonly sets: readonly ReplicaSet[]; readonly count: number }> {
  const sets: ReplicaSet[] = [];
  let count = 0;
  for (const set of oldSets) {
    const size = replicasOf(set);
    const unhealthy = size - (set.status?.availableReplicas ?? 0);
    const down = Math.min(most - count, unhealthy);
    if (size === 0 || down <= 0) {
      sets.push(set);
      continue;
    }
    const why = `${unhealthy} of its ${size} pods are not available, and ${counted(most, "pod")} may go`;
    const by = { file: FILE, func: "cleanupUnhealthyReplicas" };
    sets.push((await pass.scaleIfNeeded(set, size - down, { ...by, why })).set);
    count += down;
  }
  return { sets, count };
}

async function scaleDownOldReplicaSets(
  pass: DeploymentPass,
  oldSets: readonly ReplicaSet[],
  newSet: ReplicaSet,
  minAvailable: number,
): Promise<number> {
  const available = statusCount([...oldSets, newSet], "availableReplicas");
  const most = available - minAvailable;
  let count = 0;
  for (const set of oldSets) {
    const size = replicasOf(set);
    const down = Math.min(size, most - count);
    if (down <= 0) continue;
    const why = `${available} pods are available, and ${minAvailable} must be`;
    const by = { file: FILE, func: "scaleDownOldReplicaSetsForRollingUpdate" };
    await pass.scaleIfNeeded(set, size - down, { ...by, why });
    count += down;
  }
  return count;
}
