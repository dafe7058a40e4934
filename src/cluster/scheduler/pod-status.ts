import type { PodCondition } from "../../staging/apimachinery/api/objects.js";
import { findCondition, withCondition } from "../../staging/apimachinery/api/pod.js";
import { rfc3339 } from "../../staging/apimachinery/time.js";
import type { PatchBody } from "../../staging/client-go/dynamic/interface.js";
import { type SchedulablePod, uidOf } from "./objects.js";

/** What the scheduler writes into a pod's status. */
export interface StatusChange {
  /** `Unschedulable`, or `SchedulerError` after an error */
  readonly reason: string;
  readonly message: string;
  /** undefined: keep it; empty: remove it */
  readonly nominatedNodeName: string | undefined;
}

/**
 * Sets PodScheduled=False with its reason. Returns the same object if nothing changes; then nothing is written.
 * Mirrors updatePod in pkg/scheduler/schedule_one.go. Pure.
 */
export function withSchedulingFailure(pod: SchedulablePod, change: StatusChange, nowMs: number): SchedulablePod {
  const { nominatedNodeName: nominatedBefore, ...status } = { ...pod.status } as Readonly<Record<string, unknown>>;
  const nominated = change.nominatedNodeName ?? (typeof nominatedBefore === "string" ? nominatedBefore : "");
  const before = findCondition(pod.status?.conditions, "PodScheduled");
  const isSame = before?.status === "False" && before.reason === change.reason && before.message === change.message;
  if (isSame && nominated === (nominatedBefore ?? "")) return pod;
  const now = rfc3339(nowMs);
  const condition: PodCondition = {
    type: "PodScheduled",
    status: "False",
    lastProbeTime: null,
    lastTransitionTime: now,
    reason: change.reason,
    message: change.message,
  };
  return {
    ...pod,
    status: {
      ...status,
      conditions: withCondition(pod.status?.conditions, condition, now),
      ...(nominated === "" ? {} : { nominatedNodeName: nominated }),
    },
  };
}

/** Marks a victim. Mirrors PreemptPod in pkg/scheduler/framework/preemption/preemption.go. Pure. */
export function withDisruptionTarget(pod: SchedulablePod, schedulerName: string, nowMs: number): SchedulablePod {
  const condition: PodCondition = {
    type: "DisruptionTarget",
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: rfc3339(nowMs),
    reason: "PreemptionByScheduler",
    message: `${schedulerName}: preempting to accommodate a higher priority pod`,
  };
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== condition.type);
  return { ...pod, status: { ...pod.status, conditions: [...others, condition] } };
}

/** A pod that is nominated to no node any more. Mirrors ClearNominatedNodeName in pkg/scheduler/util/utils.go. Pure. */
export function withoutNomination(pod: SchedulablePod): SchedulablePod {
  const { nominatedNodeName, ...status } = { ...pod.status } as Readonly<Record<string, unknown>>;
  return nominatedNodeName === undefined ? pod : { ...pod, status };
}

/**
 * The strategic merge patch from one status to the other: the changed fields of conditions, and the nomination.
 * Mirrors PatchPodStatus in pkg/scheduler/util/utils.go. Pure.
 * Differs: it has the uid, so that a new pod of the same name is left alone, and no order of the conditions.
 * @returns undefined if nothing changes; then upstream sends nothing either
 */
export function statusPatch(before: SchedulablePod, after: SchedulablePod): PatchBody | undefined {
  const conditions = (after.status?.conditions ?? []).flatMap((condition) => {
    const old = findCondition(before.status?.conditions, condition.type);
    const changed = old === undefined ? condition : changedFields(old, condition);
    return Object.keys(changed).length === 0 ? [] : [{ ...changed, type: condition.type }];
  });
  const [nominatedBefore, nominated] = [before, after].map(({ status }) => status?.["nominatedNodeName"] ?? null);
  const status = {
    ...(conditions.length === 0 ? {} : { conditions }),
    ...(nominated === nominatedBefore ? {} : { nominatedNodeName: nominated }),
  };
  return Object.keys(status).length === 0 ? undefined : { metadata: { uid: uidOf(before) }, status };
}

function changedFields(before: PodCondition, after: PodCondition): object {
  const old = before as unknown as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(after).filter(([key, value]) => (old[key] ?? null) !== (value ?? null)));
}
