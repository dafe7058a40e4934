import { rfc3339 } from "../../../apimachinery/time.js";
import { type NodeCondition, type NodeObject, nodeCondition } from "../support/objects.js";

/** What the controller remembers of a node between two passes. Mirrors nodeHealthData. */
export interface NodeHealth {
  /** when the controller last noticed a heartbeat, Unix ms on its own clock: a node's clock is not trusted */
  readonly probeMs: number;
  /** the Ready condition as last seen */
  readonly ready: NodeCondition | undefined;
  /** the lease's renewTime as last seen */
  readonly renewTime: string | undefined;
}

export interface HealthPeriods {
  /** for a node that reported a status once, ms */
  readonly monitorGraceMs: number;
  /** for a node that never did, ms */
  readonly startupGraceMs: number;
}

export interface HealthVerdict {
  readonly health: NodeHealth;
  /** Ready as it was when the pass began; a node that never reported counts as Unknown since its creation */
  readonly observedReady: NodeCondition;
  /** Ready as it is after the pass; undefined while a new node has not reported and still may */
  readonly currentReady: NodeCondition | undefined;
  readonly silentMs: number;
  readonly graceMs: number;
  /** The conditions to write because the grace period is over; undefined: nothing to write. */
  readonly conditions: readonly NodeCondition[] | undefined;
}

/** What a kubelet reports; NetworkUnavailable is not its own. Mirrors nodeConditionTypes in tryUpdateNodeHealth. */
const KUBELET_CONDITIONS = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] as const;

/**
 * Judges one node: has a status or a lease come since the last pass, and if not, is its grace period over? Pure.
 *
 * Mirrors tryUpdateNodeHealth in pkg/controller/nodelifecycle/node_lifecycle_controller.go.
 * Differs: over means `>=` instead of `>`. Upstream's passes are always a little late, so that the pass at exactly 40 s
 * comes after them; a clock of whole milliseconds would push the decision to the next pass.
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
  // Only a change of Ready is written (upstream compares that one condition).
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

/** What to remember, with `probeMs` moved to now when the status or the lease changed. */
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
  // MicroTimes have a fixed width, so their order is the order of their texts.
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

/** All of the kubelet's conditions as Unknown; what it never reported is added. */
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
