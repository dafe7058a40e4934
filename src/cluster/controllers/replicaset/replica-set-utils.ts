import type { V1LabelSelector, V1ReplicaSet, V1ReplicaSetCondition, V1ReplicaSetStatus } from "@kubernetes/client-node";
import { keyOf } from "../../../staging/apimachinery/api/object-key.js";
import { nameOf, type PodObject, withoutZeros } from "../../../staging/apimachinery/api/objects.js";
import { isPodAvailable, isPodReady } from "../../../staging/apimachinery/api/pod.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import { sameJson } from "../../../staging/apimachinery/same-json.js";
import { labelSelectorAsSelector } from "../../../staging/apimachinery/selector.js";
import { rfc3339 } from "../../../staging/apimachinery/time.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import type { LocalClient } from "../../../staging/client-go/dynamic/interface.js";
import type { Trace } from "../../../trace/trace.js";
import { messageOf } from "../../../util/errors.js";
import { decide } from "../support/sync-loop.js";

/** A ReplicationController has the same fields, but for its selector. */
export type ReplicaSet = Wire<V1ReplicaSet>;
export type ReplicaSetStatus = Wire<V1ReplicaSetStatus>;
type ReplicaSetCondition = Wire<V1ReplicaSetCondition>;

/** The kind that a controller handles. */
export interface ReplicaSetKind {
  readonly kind: "ReplicaSet" | "ReplicationController";
  /** `replicasets.apps` */
  readonly resource: string;
  /** in the table of controllers */
  readonly controllerName: string;
  /** the source of its events */
  readonly component: string;
  selectorOf(set: ReplicaSet): Wire<V1LabelSelector> | undefined;
}

const FILE = "pkg/controller/replicaset/replica_set_utils.go";
const REPLICA_FAILURE = "ReplicaFailure";

/**
 * Counts the pods. Pure. Mirrors calculateStatus.
 * @param failure why pods could not be created or deleted
 */
export function calculateStatus(
  set: ReplicaSet,
  pods: readonly PodObject[],
  failure: { readonly error: unknown } | undefined,
  nowMs: number,
): ReplicaSetStatus {
  const { template, minReadySeconds = 0, replicas = 1 } = set.spec ?? {};
  const isLabeled = labelSelectorAsSelector({ matchLabels: template?.metadata?.labels ?? {} });
  const count = (isCounted: (pod: PodObject) => boolean) => pods.filter(isCounted).length;
  const conditions = conditionsOf(set, pods.length - replicas, failure, nowMs);
  return {
    replicas: pods.length,
    ...withoutZeros({
      observedGeneration: set.status?.observedGeneration ?? 0,
      fullyLabeledReplicas: count((pod) => isLabeled(pod.metadata.labels)),
      readyReplicas: count(isPodReady),
      availableReplicas: count((pod) => isPodReady(pod) && isPodAvailable(pod, minReadySeconds, nowMs)),
    }),
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}

/** The condition ReplicaFailure stays as it began until a pass succeeds. */
function conditionsOf(
  { status }: ReplicaSet,
  difference: number,
  failure: { readonly error: unknown } | undefined,
  nowMs: number,
): readonly ReplicaSetCondition[] {
  const before = status?.conditions ?? [];
  const has = before.some(({ type }) => type === REPLICA_FAILURE);
  if (failure === undefined) return has ? before.filter(({ type }) => type !== REPLICA_FAILURE) : before;
  if (has) return before;
  const reason = difference < 0 ? "FailedCreate" : difference > 0 ? "FailedDelete" : "";
  const message = messageOf(failure.error);
  const lastTransitionTime = rfc3339(nowMs);
  return [...before, { type: REPLICA_FAILURE, status: "True", lastTransitionTime, reason, message }];
}

const COUNTS = ["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"] as const;

/**
 * Writes a status that changed, and tries once more after a conflict. Mirrors updateReplicaSetStatus.
 * @returns the set as it is stored
 * @throws the API server's refusal
 */
export async function writeStatus(
  { client, trace }: { readonly client: Pick<LocalClient, "get" | "update">; readonly trace: Trace },
  { kind, resource }: ReplicaSetKind,
  set: ReplicaSet,
  status: ReplicaSetStatus,
): Promise<ReplicaSet> {
  const before = set.status ?? { replicas: 0 };
  const { generation } = set.metadata;
  const changed = COUNTS.filter((name) => (before[name] ?? 0) !== (status[name] ?? 0));
  const sameConditions = sameJson(before.conditions ?? [], status.conditions ?? []);
  if (changed.length === 0 && sameConditions && generation === before.observedGeneration) return set;
  const numbers = changed.map((name) => `${name} ${before[name] ?? 0} -> ${status[name] ?? 0}`);
  const observed = { ...status, observedGeneration: generation } as ReplicaSetStatus;
  const write = (current: ReplicaSet) =>
    client.update<ReplicaSet>(resource, { ...current, status: observed }, "status");
  const what = `write the status of ${kind} ${keyOf(set)}`;
  const why = [...numbers, ...(sameConditions ? [] : ["conditions"]), `generation ${generation}`].join(", ");
  return decide(
    trace,
    { what, why, upstream: { file: FILE, func: "updateReplicaSetStatus" } },
    async () => {
      try {
        return await write(set);
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        const latest = await client.get<ReplicaSet>(resource, set.metadata.namespace, nameOf(set));
        if (latest === undefined) throw error;
        return write(latest);
      }
    },
    2,
  );
}
