import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { byCreationTimestamp, isTerminating, nameOf, withoutZeros } from "../../../staging/apimachinery/api/objects.js";
import { counted } from "../../../util/text/counted.js";
import type { ReplicaSet } from "../replicaset/replica-set-utils.js";
import { decide } from "../support/sync-loop.js";
import { syncNewReplicaSet } from "./new-replica-set.js";
import { type DeploymentPass, REPLICA_SETS } from "./pass.js";
import { DESIRED_REPLICAS_ANNOTATION, intAnnotation } from "./util/annotations.js";
import { AVAILABLE, conditionOf, newCondition, PROGRESSING, REASONS, setCondition } from "./util/conditions.js";
import {
  activeReplicaSets,
  bySizeNewer,
  bySizeOlder,
  type DeploymentStatus,
  findActiveOrLatest,
  findNewReplicaSet,
  findOldReplicaSets,
  isRollingUpdate,
  isSaturated,
  maxSurge,
  maxUnavailable,
  progressDeadlineSeconds,
  proportionOf,
  replicasOf,
  revisionHistoryLimit,
  statusCount,
  wantedCount,
} from "./util/deployment-util.js";

const FILE = "pkg/controller/deployment/sync.go";

/** The set with the Deployment's template, and all others. */
export interface Sets {
  readonly newSet: ReplicaSet | undefined;
  readonly oldSets: readonly ReplicaSet[];
}

/** Brings the revision of the new set and of the Deployment up to date. Mirrors getAllReplicaSetsAndSyncRevision. */
export async function syncRevision(pass: DeploymentPass): Promise<Sets> {
  const { deployment, sets } = pass;
  const oldSets = findOldReplicaSets(deployment, sets);
  const existing = findNewReplicaSet(deployment, sets);
  const newSet = existing && (await syncNewReplicaSet(pass, existing, oldSets));
  return { newSet, oldSets };
}

/** While it is deleted, only the status follows. Mirrors syncStatusOnly. */
export async function syncStatusOnly(pass: DeploymentPass): Promise<void> {
  await syncDeploymentStatus(pass, await syncRevision(pass));
}

/** What is done when the Deployment's size changed, or while it is paused: no rollout. Mirrors sync. */
export async function syncSize(pass: DeploymentPass): Promise<void> {
  const sets = await syncRevision(pass);
  await scale(pass, sets);
  if (pass.deployment.spec?.paused === true) await cleanupDeployment(pass, sets.oldSets);
  await syncDeploymentStatus(pass, sets);
}

/**
 * Notes in the condition Progressing that a Deployment was paused or resumed, so that the time of the pause does not count.
 * Mirrors checkPausedConditions.
 */
export async function checkPausedConditions(pass: DeploymentPass): Promise<void> {
  const { deployment } = pass;
  if (progressDeadlineSeconds(deployment) === undefined) return;
  const { status = {}, spec } = deployment;
  const current = conditionOf(status.conditions, PROGRESSING);
  if (current?.reason === REASONS.timedOut) return;
  const isPaused = spec?.paused === true;
  if (isPaused === (current?.reason === REASONS.paused)) return;
  const [reason, message] = isPaused
    ? [REASONS.paused, "Deployment is paused"]
    : [REASONS.resumed, "Deployment is resumed"];
  const condition = newCondition(PROGRESSING, "Unknown", reason, message, pass.nowMs);
  const conditions = setCondition(status.conditions ?? [], condition);
  await pass.writeStatus({ ...status, conditions }, "checkPausedConditions");
}

/** Reports whether the size changed since the active sets were scaled last. Mirrors isScalingEvent. */
export async function isScalingEvent(pass: DeploymentPass): Promise<boolean> {
  const { newSet, oldSets } = await syncRevision(pass);
  const replicas = replicasOf(pass.deployment);
  return activeReplicaSets([...oldSets, newSet]).some((set) => {
    const desired = intAnnotation(set, DESIRED_REPLICAS_ANNOTATION);
    return desired !== undefined && desired !== replicas;
  });
}

/**
 * Gives a single set the Deployment's size. In the middle of a rollout all sets get their share, so that a scaling does not speed the
 * rollout up. Mirrors scale.
 */
async function scale(pass: DeploymentPass, { newSet, oldSets }: Sets): Promise<void> {
  const { deployment } = pass;
  const replicas = replicasOf(deployment);
  const by = { file: "sync.go", func: "scale" };
  const single = findActiveOrLatest(newSet, oldSets);
  if (single !== undefined) {
    await pass.scaleIfNeeded(single, replicas, { ...by, why: `the Deployment wants ${replicas} replicas` });
    return;
  }
  const desired = newSet && intAnnotation(newSet, DESIRED_REPLICAS_ANNOTATION);
  if (isSaturated(deployment, newSet, desired)) {
    const why = `all ${replicas} pods of the new ReplicaSet are available`;
    for (const old of activeReplicaSets(oldSets)) await pass.scaleIfNeeded(old, 0, { ...by, why });
    return;
  }
  if (isRollingUpdate(deployment)) await scaleProportionally(pass, activeReplicaSets([...oldSets, newSet]));
}

async function scaleProportionally(pass: DeploymentPass, sets: readonly ReplicaSet[]): Promise<void> {
  const { deployment } = pass;
  const replicas = replicasOf(deployment);
  const allowed = replicas > 0 ? replicas + maxSurge(deployment) : 0;
  const toAdd = allowed - wantedCount(sets);
  const ordered = toAdd === 0 ? sets : [...sets].sort(toAdd > 0 ? bySizeNewer : bySizeOlder);
  let added = 0;
  const sizes = ordered.map((set) => {
    const proportion = proportionOf(set, deployment, toAdd, added);
    added += proportion;
    return replicasOf(set) + proportion;
  });
  for (const [index, set] of ordered.entries()) {
    // The largest set gets what the rounding left.
    const leftover = index === 0 ? toAdd - added : 0;
    const size = Math.max(0, (sizes[index] ?? 0) + leftover);
    const why = `its share of ${counted(allowed, "pod")}: the Deployment wants ${replicas} replicas in the middle of a rollout`;
    await pass.scaleReplicaSet(set, size, { why, file: "sync.go", func: "scale, GetProportion" });
  }
}

/** Deletes the oldest sets without pods beyond `revisionHistoryLimit`. Mirrors cleanupDeployment. */
export async function cleanupDeployment(pass: DeploymentPass, oldSets: readonly ReplicaSet[]): Promise<void> {
  const { client, trace } = pass.deps;
  const limit = revisionHistoryLimit(pass.deployment);
  if (limit === undefined) return;
  const alive = oldSets.filter((set) => !isTerminating(set)).sort(byCreationTimestamp);
  for (const set of alive.slice(0, Math.max(0, alive.length - limit))) {
    const { status, metadata } = set;
    const isSeen = (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0);
    if ((status?.replicas ?? 0) !== 0 || replicasOf(set) !== 0 || !isSeen) continue;
    const what = `delete ReplicaSet ${keyOf(set)}`;
    const why = `${alive.length} old ReplicaSets exist, and revisionHistoryLimit is ${limit}`;
    const upstream = { file: FILE, func: "cleanupDeployment" };
    await decide(trace, { what, why, upstream }, () => client.delete(REPLICA_SETS, metadata.namespace, nameOf(set)));
  }
}

async function syncDeploymentStatus(pass: DeploymentPass, sets: Sets): Promise<void> {
  await pass.writeStatus(calculateStatus(pass, sets), "syncDeploymentStatus");
}

/** Sums up the sets. Mirrors calculateStatus. */
export function calculateStatus({ deployment, nowMs }: DeploymentPass, { newSet, oldSets }: Sets): DeploymentStatus {
  const sets = [...oldSets, newSet];
  const available = statusCount(sets, "availableReplicas");
  const { conditions = [], collisionCount } = deployment.status ?? {};
  const isAvailable = available >= replicasOf(deployment) - maxUnavailable(deployment);
  const condition = isAvailable
    ? newCondition(AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", nowMs)
    : newCondition(
        AVAILABLE,
        "False",
        "MinimumReplicasUnavailable",
        "Deployment does not have minimum availability.",
        nowMs,
      );
  return {
    ...withoutZeros({
      observedGeneration: deployment.metadata.generation,
      replicas: statusCount(sets, "replicas"),
      updatedReplicas: statusCount([newSet], "replicas"),
      readyReplicas: statusCount(sets, "readyReplicas"),
      availableReplicas: available,
      // More can be available than wanted, for example while it is scaled down.
      unavailableReplicas: Math.max(0, wantedCount(sets) - available),
    }),
    conditions: setCondition(conditions, condition),
    ...(collisionCount === undefined ? {} : { collisionCount }),
  } as DeploymentStatus;
}
