import { isDeepStrictEqual } from "node:util";
import type { V1PodStatus } from "../../staging/apimachinery/api/pod.js";
import { marshalPodStatus } from "./wire.js";

type Fields = Readonly<Record<string, unknown>>;

/** Lists of a status that are merged item by item, with their merge keys; all other lists are replaced as a whole. */
const MERGE_KEYS: Readonly<Record<string, string>> = { conditions: "type", podIPs: "ip" };

/**
 * The strategic merge patch from one status to the other. It contains the pod's uid, so that it never changes another
 * pod with the same name: the API server answers 409 then.
 *
 * Mirrors pkg/util/pod/pod.go (PatchPodStatus, preparePatchBytesForPodStatus) and the two-way merge of
 * k8s.io/apimachinery/pkg/util/strategicpatch. Pure.
 *
 * @returns undefined when there is nothing to change
 */
export function podStatusPatch(podUid: string, before: V1PodStatus, after: V1PodStatus): Fields | undefined {
  const status = statusPatch(marshalPodStatus(before), marshalPodStatus(after));
  return Object.keys(status).length === 0 ? undefined : { metadata: { uid: podUid }, status };
}

function statusPatch(before: Fields, after: Fields): Fields {
  const patch: Record<string, unknown> = {};
  for (const key of keysOf(before, after)) {
    const mergeKey = MERGE_KEYS[key];
    if (isDeepStrictEqual(before[key], after[key])) continue;
    if (after[key] === undefined) patch[key] = null;
    else if (mergeKey === undefined || before[key] === undefined) patch[key] = after[key];
    else Object.assign(patch, listPatch(key, mergeKey, before[key] as Fields[], after[key] as Fields[]));
  }
  return patch;
}

/** Changed items in the order of the new list, then deleted ones; and the order of all. */
function listPatch(key: string, mergeKey: string, before: readonly Fields[], after: readonly Fields[]): Fields {
  const find = (list: readonly Fields[], one: Fields) => list.find((other) => other[mergeKey] === one[mergeKey]);
  const changed = after.flatMap((one) => {
    const fields = fieldsPatch(find(before, one) ?? {}, one);
    return Object.keys(fields).length === 0 ? [] : [{ ...fields, [mergeKey]: one[mergeKey] }];
  });
  const gone = before.filter((one) => find(after, one) === undefined);
  const items = [...changed, ...gone.map((one) => ({ $patch: "delete", [mergeKey]: one[mergeKey] }))];
  return {
    [`$setElementOrder/${key}`]: after.map((one) => ({ [mergeKey]: one[mergeKey] })),
    ...(items.length === 0 ? {} : { [key]: items }),
  };
}

/** Members that differ; null for those that are gone. */
function fieldsPatch(before: Fields, after: Fields): Fields {
  const patch: Record<string, unknown> = {};
  for (const key of keysOf(before, after)) if (before[key] !== after[key]) patch[key] = after[key] ?? null;
  return patch;
}

function keysOf(...values: readonly Fields[]): string[] {
  return [...new Set(values.flatMap((value) => Object.keys(value)))].sort();
}
