import { isDeepStrictEqual } from "node:util";
import type { NodeAddress, NodeCondition, NodeStatus } from "../../staging/apimachinery/api/node.js";
import { isRecord } from "../../util/records.js";
import { compareText } from "../../util/text/compare-text.js";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reports whether a status must be written before the report period is over: all changes but heartbeat times count.
 *
 * Mirrors pkg/kubelet/kubelet_node_status.go (nodeStatusHasChanged).
 */
export function nodeStatusHasChanged(before: NodeStatus, after: NodeStatus): boolean {
  return !isDeepStrictEqual(withoutHeartbeats(before), withoutHeartbeats(after));
}

function withoutHeartbeats(status: NodeStatus): NodeStatus {
  const conditions = (status.conditions ?? [])
    .map(({ lastHeartbeatTime: _, ...condition }) => condition)
    .sort((a, b) => compareText(a.type, b.type));
  return { ...status, conditions };
}

/**
 * The strategic merge patch from one status to the other: only what changed, conditions by their type with the order of
 * all of them, addresses replaced as a whole.
 *
 * Mirrors k8s.io/component-helpers/node/util/status.go (preparePatchBytesForNodeStatus,
 * fixupPatchForNodeStatusAddresses) and the two-way merge of k8s.io/apimachinery/pkg/util/strategicpatch. Pure.
 *
 * @returns undefined when there is nothing to change
 */
export function nodeStatusPatch(before: NodeStatus, after: NodeStatus): { readonly status: Fields } | undefined {
  const status: Record<string, unknown> = {};
  const changed = fieldsPatch(before as Fields, after as Fields);
  for (const [key, value] of Object.entries(changed)) {
    if (key === "conditions") Object.assign(status, conditionsPatch(before.conditions ?? [], after.conditions ?? []));
    else if (key === "addresses") Object.assign(status, addressesPatch(after.addresses ?? []));
    else status[key] = value;
  }
  return Object.keys(status).length === 0 ? undefined : { status };
}

function keysOf(...values: readonly Fields[]): string[] {
  return [...new Set(values.flatMap((value) => Object.keys(value)))].sort();
}

function conditionsPatch(before: readonly NodeCondition[], after: readonly NodeCondition[]): Fields {
  const changed = after.flatMap((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const fields = fieldsPatch((old ?? {}) as Fields, condition as unknown as Fields);
    return Object.keys(fields).length === 0 ? [] : [{ ...fields, type: condition.type }];
  });
  const gone = before.filter(({ type }) => !after.some((one) => one.type === type));
  return {
    "$setElementOrder/conditions": after.map(({ type }) => ({ type })),
    conditions: [...changed, ...gone.map(({ type }) => ({ $patch: "delete", type }))],
  };
}

/** Addresses merge by type, and a node may have two of one type, so the patch replaces the whole list. */
function addressesPatch(after: readonly NodeAddress[]): Fields {
  return { addresses: [...after, { $patch: "replace" }] };
}

/** Members that differ; null for those that are gone. */
function fieldsPatch(before: Fields, after: Fields): Fields {
  const patch: Record<string, unknown> = {};
  for (const key of keysOf(before, after)) {
    if (!isDeepStrictEqual(before[key], after[key])) patch[key] = valuePatch(before[key], after[key]);
  }
  return patch;
}

function valuePatch(before: unknown, after: unknown): unknown {
  if (after === undefined) return null;
  return isRecord(before) && isRecord(after) ? fieldsPatch(before, after) : after;
}
