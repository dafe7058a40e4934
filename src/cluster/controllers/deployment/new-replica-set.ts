import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import { POD_TEMPLATE_HASH } from "../../../staging/apimachinery/api/pod.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import { semanticallyEqual } from "../../../staging/apimachinery/semantic-equality.js";
import { defined } from "../../../util/defined.js";
import { messageOf } from "../../../util/errors.js";
import { counted } from "../../../util/text/counted.js";
import type { ReplicaSet } from "../replicaset/replica-set-utils.js";
import { computeHash } from "../support/compute-hash.js";
import { controllerOf, newControllerRef } from "../support/controller-ref.js";
import { isNamespaceTerminating } from "../support/pod-control.js";
import { decide } from "../support/sync-loop.js";
import { type DeploymentPass, REPLICA_SETS } from "./pass.js";
import { maxRevision, newReplicaSetAnnotations, REVISION_ANNOTATION, withReplicas } from "./util/annotations.js";
import { conditionOf, newCondition, PROGRESSING, REASONS, setCondition } from "./util/conditions.js";
import {
  type DeploymentStatus,
  equalIgnoreHash,
  maxSurge,
  newReplicaSetReplicas,
  progressDeadlineSeconds,
  replicasOf,
} from "./util/deployment-util.js";

const UPSTREAM = { file: "pkg/controller/deployment/sync.go", func: "getNewReplicaSet" };

/**
 * Raises the revision of an existing new set, for example after a rollback, and copies the Deployment's annotations to it.
 * Mirrors the first half of getNewReplicaSet.
 */
export async function syncNewReplicaSet(
  pass: DeploymentPass,
  existing: ReplicaSet,
  oldSets: readonly ReplicaSet[],
): Promise<ReplicaSet> {
  const { trace } = pass.deps;
  const { deployment } = pass;
  const before = existing.metadata.annotations ?? {};
  const annotations = newReplicaSetAnnotations(deployment, before, maxRevision(oldSets) + 1n);
  const minReadySeconds = deployment.spec?.minReadySeconds ?? 0;
  const sameWait = (existing.spec?.minReadySeconds ?? 0) === minReadySeconds;
  if (!sameWait || !semanticallyEqual(annotations, before)) {
    const spec = { ...existing.spec, minReadySeconds };
    const next = { ...existing, metadata: { ...existing.metadata, annotations }, spec } as ReplicaSet;
    const what = `update ReplicaSet ${keyOf(existing)}: revision ${annotations[REVISION_ANNOTATION]}`;
    const why = "it has the Deployment's template, and not its annotations or minReadySeconds";
    return decide(trace, { what, why, upstream: UPSTREAM }, () => pass.updateSet(next));
  }
  const { status = {} } = deployment;
  const isKnown = conditionOf(status.conditions, PROGRESSING) !== undefined;
  const found = `Found new replica set "${nameOf(existing)}"`;
  await pass.writeStatus(
    isKnown ? status : withProgress(pass, "True", REASONS.foundNewReplicaSet, found),
    "getNewReplicaSet",
    withRevision(pass, annotations[REVISION_ANNOTATION]),
  );
  return existing;
}

function withRevision({ deployment }: DeploymentPass, revision: string | undefined) {
  const annotations = deployment.metadata.annotations ?? {};
  return revision === undefined ? annotations : { ...annotations, [REVISION_ANNOTATION]: revision };
}

/** Only a deadline makes use of the condition. */
function withProgress(pass: DeploymentPass, status: "True" | "False", reason: string, message: string) {
  const { deployment, nowMs } = pass;
  const before: DeploymentStatus = deployment.status ?? {};
  if (progressDeadlineSeconds(deployment) === undefined) return before;
  const condition = newCondition(PROGRESSING, status, reason, message, nowMs);
  return { ...before, conditions: setCondition(before.conditions ?? [], condition) };
}

/** Creates the set for the Deployment's template. Mirrors the second half of getNewReplicaSet. */
export async function createNewReplicaSet(
  pass: DeploymentPass,
  oldSets: readonly ReplicaSet[],
  cached: (name: string) => ReplicaSet | undefined,
): Promise<ReplicaSet> {
  const { client, trace } = pass.deps;
  const revision = maxRevision(oldSets) + 1n;
  const wanted = newReplicaSet(pass, oldSets, revision);
  const size = replicasOf(wanted);
  const what = `create ReplicaSet ${keyOf(wanted)} with ${counted(size, "replica")} as revision ${revision}`;
  const why =
    oldSets.length === 0
      ? `Deployment ${pass.key} has none`
      : `none of the ${oldSets.length} ReplicaSets of Deployment ${pass.key} has its template`;
  return decide(trace, { what, why, upstream: UPSTREAM }, async () => {
    let created: ReplicaSet;
    try {
      created = await client.create<ReplicaSet>(REPLICA_SETS, wanted.metadata.namespace, wanted);
    } catch (error) {
      return afterFailure(pass, wanted, error, cached);
    }
    if (size > 0) pass.event("Normal", "ScalingReplicaSet", `Scaled up replica set ${nameOf(created)} to ${size}`);
    const message = `Created new replica set "${nameOf(created)}"`;
    const status = withProgress(pass, "True", REASONS.newReplicaSet, message);
    await pass.writeStatus(status, "getNewReplicaSet", withRevision(pass, String(revision)));
    return created;
  });
}

function newReplicaSet({ deployment }: DeploymentPass, oldSets: readonly ReplicaSet[], revision: bigint): ReplicaSet {
  const { spec, status } = deployment;
  const { namespace } = deployment.metadata;
  const hash = computeHash(spec?.template ?? {}, status?.collisionCount);
  const labels = { ...spec?.template?.metadata?.labels, [POD_TEMPLATE_HASH]: hash };
  const selector = {
    ...spec?.selector,
    matchLabels: { ...spec?.selector?.matchLabels, [POD_TEMPLATE_HASH]: hash },
  };
  const replicas = replicasOf(deployment);
  const annotations = newReplicaSetAnnotations(deployment, {}, revision);
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      // The same template gives the same name, so that a second attempt finds the first one's set.
      name: `${nameOf(deployment)}-${hash}`,
      ...defined({ namespace }),
      labels,
      annotations: withReplicas(annotations, replicas, replicas + maxSurge(deployment)),
      ownerReferences: [newControllerRef(deployment)],
    },
    spec: {
      replicas: newReplicaSetReplicas(deployment, oldSets, 0),
      ...defined({ minReadySeconds: spec?.minReadySeconds }),
      selector,
      template: { ...spec?.template, metadata: { ...spec?.template?.metadata, labels } },
    },
  } as ReplicaSet;
}

/** @returns the existing set if the name is taken by this Deployment's set of the same template @throws otherwise */
async function afterFailure(
  pass: DeploymentPass,
  wanted: ReplicaSet,
  error: unknown,
  cached: (name: string) => ReplicaSet | undefined,
): Promise<ReplicaSet> {
  const { deployment } = pass;
  if (error instanceof StatusError && error.reason === "AlreadyExists") {
    const existing = cached(nameOf(wanted));
    if (existing === undefined) throw error;
    const isOwn = controllerOf(existing)?.uid === deployment.metadata.uid;
    if (isOwn && equalIgnoreHash(deployment.spec?.template, existing.spec?.template)) return existing;
    const status: DeploymentStatus = deployment.status ?? {};
    const collisionCount = (status.collisionCount ?? 0) + 1;
    // The next attempt gets another hash.
    await pass.writeStatus({ ...status, collisionCount }, "getNewReplicaSet");
    throw error;
  }
  if (!isNamespaceTerminating(error)) {
    const message = `Failed to create new replica set "${nameOf(wanted)}": ${messageOf(error)}`;
    const status = withProgress(pass, "False", REASONS.failedCreate, message);
    // The creation's failure matters more than that of this write.
    await pass.writeStatus(status, "getNewReplicaSet").catch(() => undefined);
    pass.event("Warning", REASONS.failedCreate, message);
  }
  throw error;
}
