import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { isTerminating, nameOf, type PodObject, withoutZeros } from "../../../staging/apimachinery/api/objects.js";
import type { LocalClient } from "../../../staging/client-go/dynamic/interface.js";
import type { Trace } from "../../../trace/trace.js";
import { decide } from "../support/sync-loop.js";
import { STATEFUL_SETS, type StatefulSet } from "./identity.js";
import {
  isCreated,
  isRunningAndAvailable,
  isRunningAndReady,
  podRevision,
  type StatefulSetStatus,
  type Versions,
} from "./stateful-set-utils.js";

const FILE = "pkg/controller/statefulset/stateful_set_status_updater.go";
const COUNTS = ["replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas"] as const;

/** The pods of a set in numbers. A pass changes them with each pod that it creates or deletes. */
export class ReplicaCounts {
  replicas = 0;
  readyReplicas = 0;
  availableReplicas = 0;
  currentReplicas = 0;
  updatedReplicas = 0;

  constructor(
    readonly versions: Versions,
    pods: readonly PodObject[],
    nowMs: number,
  ) {
    for (const pod of pods) {
      this.replicas++;
      if (isRunningAndReady(pod)) this.readyReplicas++;
      if (isRunningAndAvailable(pod, versions.updateSet, nowMs)) this.availableReplicas++;
      if (isCreated(pod) && !isTerminating(pod)) this.#addToRevision(pod, 1);
    }
  }

  created(pod: PodObject): void {
    this.replicas++;
    this.#addToRevision(pod, 1);
  }

  /** Marked for deletion: it still counts as a replica. */
  deleted(pod: PodObject): void {
    this.#addToRevision(pod, -1);
  }

  #addToRevision(pod: PodObject, difference: number): void {
    const { currentRevision, updateRevision } = this.versions;
    if (podRevision(pod) === nameOf(currentRevision)) this.currentReplicas += difference;
    if (podRevision(pod) === nameOf(updateRevision)) this.updatedReplicas += difference;
  }
}

/**
 * The status of a set with these pods. When all pods are updated and ready, the update is over: its revision is the current one.
 * Mirrors completeRollingUpdate in pkg/controller/statefulset/stateful_set_utils.go.
 */
export function statusOf(set: StatefulSet, counts: ReplicaCounts, collisionCount: number): StatefulSetStatus {
  const { replicas, readyReplicas, availableReplicas, updatedReplicas } = counts;
  const { currentRevision, updateRevision } = counts.versions;
  const isRolling = set.spec?.updateStrategy?.type === "RollingUpdate";
  const isComplete = isRolling && updatedReplicas === replicas && readyReplicas === replicas;
  const currentReplicas = isComplete ? updatedReplicas : counts.currentReplicas;
  return {
    ...withoutZeros({ observedGeneration: set.metadata.generation }),
    replicas,
    ...withoutZeros({ readyReplicas, currentReplicas, updatedReplicas }),
    currentRevision: nameOf(isComplete ? updateRevision : currentRevision),
    updateRevision: nameOf(updateRevision),
    collisionCount,
    availableReplicas,
  };
}

/**
 * Writes a status that changed, again after a conflict. Mirrors updateStatefulSetStatus and inconsistentStatus.
 * @returns the set as it is stored
 * @throws the API server's refusal
 */
export async function writeStatus(
  { client, trace }: { readonly client: Pick<LocalClient, "modify">; readonly trace: Trace },
  set: StatefulSet,
  status: StatefulSetStatus,
): Promise<StatefulSet> {
  const changes = changesOf(set.status ?? { replicas: 0 }, status);
  if (changes.length === 0) return set;
  const { namespace, uid } = set.metadata;
  const change = (current: StatefulSet) => (current.metadata.uid === uid ? { ...current, status } : current);
  const what = `write the status of StatefulSet ${keyOf(set)}`;
  const upstream = { file: FILE, func: "UpdateStatefulSetStatus" };
  const write = () => client.modify<StatefulSet>(STATEFUL_SETS, namespace, nameOf(set), change, "status");
  return (await decide(trace, { what, why: changes.join(", "), upstream }, write, 2)) ?? set;
}

function changesOf(before: StatefulSetStatus, after: StatefulSetStatus): string[] {
  const numbers = COUNTS.filter((name) => (before[name] ?? 0) !== (after[name] ?? 0)).map(
    (name) => `${name} ${before[name] ?? 0} -> ${after[name] ?? 0}`,
  );
  const revisions = (["currentRevision", "updateRevision"] as const)
    .filter((name) => (before[name] ?? "") !== after[name])
    .map((name) => `${name} ${after[name]}`);
  const isNewer = (after.observedGeneration ?? 0) > (before.observedGeneration ?? 0);
  return [...numbers, ...revisions, ...(isNewer ? [`generation ${after.observedGeneration}`] : [])];
}
