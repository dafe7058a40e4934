import { type NodeObject, nodeCondition, type Taint } from "../../../../staging/apimachinery/api/node.js";
import { rfc3339 } from "../../../../staging/apimachinery/time.js";

export const TAINT_NOT_READY = "node.kubernetes.io/not-ready";
export const TAINT_UNREACHABLE = "node.kubernetes.io/unreachable";
const TAINT_UNSCHEDULABLE = "node.kubernetes.io/unschedulable";

/** The taint for each condition and status. Mirrors nodeConditionToTaintKeyStatusMap. */
const CONDITION_TAINTS: readonly { readonly type: string; readonly status: string; readonly key: string }[] = [
  { type: "Ready", status: "False", key: TAINT_NOT_READY },
  { type: "Ready", status: "Unknown", key: TAINT_UNREACHABLE },
  { type: "MemoryPressure", status: "True", key: "node.kubernetes.io/memory-pressure" },
  { type: "DiskPressure", status: "True", key: "node.kubernetes.io/disk-pressure" },
  { type: "NetworkUnavailable", status: "True", key: "node.kubernetes.io/network-unavailable" },
  { type: "PIDPressure", status: "True", key: "node.kubernetes.io/pid-pressure" },
];

const CONTROLLED_KEYS = new Set([...CONDITION_TAINTS.map(({ key }) => key), TAINT_UNSCHEDULABLE]);

export interface TaintChange {
  readonly add: readonly Taint[];
  readonly remove: readonly Taint[];
}

/**
 * Compares the NoSchedule taints that a node's conditions and `spec.unschedulable` require with those that it has.
 * Pure. Mirrors doNoScheduleTaintingPass.
 */
export function noScheduleChange(node: NodeObject): TaintChange {
  const wanted: Taint[] = [];
  for (const condition of node.status?.conditions ?? []) {
    const row = CONDITION_TAINTS.find(({ type, status }) => type === condition.type && status === condition.status);
    if (row !== undefined) wanted.push({ key: row.key, effect: "NoSchedule" });
  }
  if (node.spec?.unschedulable === true) wanted.push({ key: TAINT_UNSCHEDULABLE, effect: "NoSchedule" });
  const present = (node.spec?.taints ?? []).filter(
    (taint) => taint.effect === "NoSchedule" && CONTROLLED_KEYS.has(taint.key),
  );
  return {
    add: wanted.filter((taint) => !hasTaint(present, taint)),
    remove: present.filter((taint) => !hasTaint(wanted, taint)),
  };
}

/** What a controlled taint follows: `spec.unschedulable is true`, `condition Ready is Unknown`. */
export function taintCause(node: NodeObject, { key }: Taint): string {
  if (key === TAINT_UNSCHEDULABLE) return `spec.unschedulable is ${node.spec?.unschedulable === true}`;
  const type = CONDITION_TAINTS.find((row) => row.key === key)?.type ?? "";
  return `condition ${type} is ${nodeCondition(node, type)?.status ?? "not reported"}`;
}

/** Mirrors MatchTaint: compares key and effect. */
export function hasTaint(taints: readonly Taint[] | undefined, taint: Taint): boolean {
  return taints?.some(({ key, effect }) => key === taint.key && effect === taint.effect) ?? false;
}

/**
 * A node with taints added (with the current time, at the end of the list) and removed; the same object if nothing
 * changes. Mirrors SwapNodeControllerTaint in pkg/controller/util/node/controller_utils.go.
 * Differs: one write; upstream adds first and removes then.
 */
export function withTaints(node: NodeObject, change: TaintChange, nowMs: number): NodeObject {
  const before = node.spec?.taints ?? [];
  const kept = before.filter((taint) => !hasTaint(change.remove, taint));
  const added = change.add.filter((taint) => !hasTaint(kept, taint));
  if (kept.length === before.length && added.length === 0) return node;
  const taints = [...kept, ...added.map((taint) => ({ ...taint, timeAdded: rfc3339(nowMs) }))];
  const { taints: _, ...spec } = node.spec ?? {};
  return { ...node, spec: taints.length === 0 ? spec : { ...spec, taints } };
}
