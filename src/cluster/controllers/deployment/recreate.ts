import type { PodObject } from "../../../staging/apimachinery/api/objects.js";
import { isPodPhaseTerminal } from "../../../staging/apimachinery/api/pod.js";
import type { ReplicaSet } from "../replicaset/replica-set-utils.js";
import { controllerOf } from "../support/controller-ref.js";
import type { DeploymentPass } from "./pass.js";
import { syncRolloutStatus } from "./progress.js";
import { cleanupDeployment, type Sets } from "./sync.js";
import { activeReplicaSets, deploymentComplete, replicasOf, statusCount } from "./util/deployment-util.js";

const FILE = "recreate.go";

/**
 * One step of a Recreate rollout: the new set gets pods only when all old pods have ended.
 * Mirrors pkg/controller/deployment/recreate.go (rolloutRecreate).
 * @param pods of the Deployment, also inactive ones
 * @param create makes the new set
 */
export async function rolloutRecreate(
  pass: DeploymentPass,
  sets: Sets,
  pods: readonly PodObject[],
  create: () => Promise<ReplicaSet>,
): Promise<void> {
  const active = activeReplicaSets(sets.oldSets);
  const why = "its template is not the Deployment's, and the strategy is Recreate";
  for (const set of active) {
    await pass.scaleIfNeeded(set, 0, { why, file: FILE, func: "scaleDownOldReplicaSetsForRecreate" });
  }
  if (active.length > 0 || oldPodsRunning(sets, pods)) return syncRolloutStatus(pass, sets);
  const newSet = sets.newSet ?? (await create());
  const replicas = replicasOf(pass.deployment);
  const reason = `no old pod runs, and the Deployment wants ${replicas} replicas`;
  await pass.scaleIfNeeded(newSet, replicas, { why: reason, file: FILE, func: "scaleUpNewReplicaSetForRecreate" });
  if (deploymentComplete(pass.deployment, pass.deployment.status ?? {})) await cleanupDeployment(pass, sets.oldSets);
  return syncRolloutStatus(pass, { ...sets, newSet });
}

function oldPodsRunning({ newSet, oldSets }: Sets, pods: readonly PodObject[]): boolean {
  if (statusCount(oldSets, "replicas") > 0) return true;
  return pods.some((pod) => {
    const isOld = newSet === undefined || controllerOf(pod)?.uid !== newSet.metadata.uid;
    return isOld && !isPodPhaseTerminal(pod.status?.phase);
  });
}
