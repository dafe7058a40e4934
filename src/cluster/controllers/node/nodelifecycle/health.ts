import { type NodeCondition, type NodeObject, nodeCondition } from "../../../../staging/apimachinery/api/node.js";
import { rfc3339 } from "../../../../staging/apimachinery/time.js";

/** The controller's memory of a node between two passes. Mirrors nodeHealthData. */
export interface NodeHealth {
  /** when the controller last noticed a heartbeat, Unix ms on its own clock, not the node's */
  readonly probeMs: number;
  /** the Ready condition in the last pass */
  readonly ready: NodeCondition | undefined;
  /** the lease's renewTime in the last pass */
  readonly renewTime: string | undefined;
}

export interface HealthPeriods {
  /** for a node that has reported a status, in ms */
  readonly monitorGraceMs: number;
  /** for a node that has never reported a status, in ms */
  readonly startupGraceMs: number;
}

export interface HealthVerdict {
  readonly health: NodeHealth;
  /** Ready at the start of the pass; Unknown since the creation for a node that has never reported */
  readonly observedReady: NodeCondition;
  /** Ready after the pass; undefined while a new node is within its startup grace period */
  readonly currentReady: NodeCondition | undefined;
  readonly silentMs: number;
  readonly graceMs: number;
  /** The conditions to write after the grace period; undefined: nothing to write. */
  readonly conditions: readonly NodeCondition[] | undefined;
}

/** What a kubelet reports; it does not set NetworkUnavailable. Mirrors nodeConditionTypes in tryUpdateNodeHealth. */
const KUBELET_CONDITIONS = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] as const;

/**
 * Checks if a node's status or lease changed since the last pass, and if not, if its grace period is over. Pure.
 *
 * Mirrors tryUpdateNodeHealth in pkg/controller/nodelifecycle/node_lifecycle_controller.go.
 * Differs: compares with `>=` instead of `>`. Upstream's passes always start a little late, so the pass at 40 s is
 * already past the limit; with whole milliseconds `>` would delay the decision to the next pass.
 */
export function judgeNodeHealth(
  node: NodeObject,
  saved: NodeHealth | undefined,
  renewTime: string | undefined,
  nowMs: number,
  periods: HealthPeriods,
): HealthVerdict {
  const reported = nodeCondition(node, "Ready");
  const observedReady = reported ?? neverReported(node);
  const graceMs = reported === undefined ? periods.startupGraceMs : periods.monitorGraceMs;
  const health = heartbeat(node, reported, saved, renewTime, nowMs);
  const silentMs = nowMs - health.probeMs;
  const verdict = { observedReady, silentMs, graceMs };
  if (silentMs < graceMs) return { ...verdict, health, currentReady: reported, conditions: undefined };
  const conditions = unknownConditions(node, nowMs);
  const currentReady = conditions.find(({ type }) => type === "Ready");
  // Only a change of Ready is written; upstream compares only that condition.
  const isChanged = !sameCondition(currentReady, observedReady);
  return {
    ...verdict,
    health: isChanged ? { ...health, ready: currentReady } : health,
    currentReady,
    conditions: isChanged ? conditions : undefined,
  };
}

/** A Ready condition for a node that never had one. */
function neverReported(node: NodeObject): NodeCondition {
  const createdAt = node.metadata.creationTimestamp ?? undefined;
  const times = createdAt === undefined ? {} : { lastHeartbeatTime: createdAt, lastTransitionTime: createdAt };
  return { type: "Ready", status: "Unknown", ...times };
}

/** The new memory; `probeMs` becomes now if the status or the lease changed. */
function heartbeat(
  node: NodeObject,
  reported: NodeCondition | undefined,
  saved: NodeHealth | undefined,
  renewTime: string | undefined,
  nowMs: number,
): NodeHealth {
  const known = saved ?? firstSight(node, reported, nowMs);
  const isStatusNews =
    (known.ready === undefined) !== (reported === undefined) ||
    (reported !== undefined && known.ready?.lastHeartbeatTime !== reported.lastHeartbeatTime);
  // MicroTimes have a fixed width, so they sort as text.
  const isLeaseNews = renewTime !== undefined && (known.renewTime === undefined || known.renewTime < renewTime);
  return {
    probeMs: isStatusNews || isLeaseNews ? nowMs : known.probeMs,
    ready: reported,
    renewTime: isLeaseNews ? renewTime : known.renewTime,
  };
}

function firstSight(node: NodeObject, reported: NodeCondition | undefined, nowMs: number): NodeHealth {
  const createdMs = Date.parse(node.metadata.creationTimestamp ?? "");
  const probeMs = reported !== undefined || Number.isNaN(createdMs) ? nowMs : createdMs;
  return { probeMs, ready: reported, renewTime: undefined };
}

/** All of the kubelet's conditions as Unknown, including those that it never reported. */
function unknownConditions(node: NodeObject, nowMs: number): NodeCondition[] {
  const conditions = [...(node.status?.conditions ?? [])];
  const now = rfc3339(nowMs);
  for (const type of KUBELET_CONDITIONS) {
    const index = conditions.findIndex((condition) => condition.type === type);
    const current = conditions[index];
    if (current === undefined) {
      conditions.push({
        type,
        status: "Unknown",
        lastHeartbeatTime: node.metadata.creationTimestamp ?? now,
        lastTransitionTime: now,
        reason: "NodeStatusNeverUpdated",
        message: "Kubelet never posted node status.",
      });
    } else if (current.status !== "Unknown") {
      conditions[index] = {
        ...current,
        status: "Unknown",
        lastTransitionTime: now,
        reason: "NodeStatusUnknown",
        message: "Kubelet stopped posting node status.",
      };
    }
  }
  return conditions;
}

function sameCondition(a: NodeCondition | undefined, b: NodeCondition): boolean {
  return (
    a !== undefined &&
    a.status === b.status &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.lastHeartbeatTime === b.lastHeartbeatTime &&
    a.lastTransitionTime === b.lastTransitionTime
  );
}
