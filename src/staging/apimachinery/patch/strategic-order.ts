import { badArgType, noMergeKey } from "./strategic-errors.js";

/**
 * Sorts a merged list. Elements of the patch (or its $setElementOrder) keep the patch's order, elements that only the
 * server has keep the server's. If neither order decides, the patch's element comes first, so a new condition precedes
 * the others.
 *
 * Mirrors normalizeElementOrder in k8s.io/apimachinery/pkg/util/strategicpatch/patch.go.
 */

export type Json = Record<string, unknown>;

/** The identity of an element: the value of its merge key, or the element itself in a list of plain values. */
export function identityOf(element: unknown, mergeKey: string): unknown {
  return mergeKey === "" ? element : (element as Json)[mergeKey];
}

/**
 * @param merged all elements, in any order
 * @param wanted elements (or only their merge keys) in the patch's order
 * @param current the server's list before the merge
 * @throws Error when an element has no merge key
 */
export function inOrder(
  merged: readonly unknown[],
  wanted: readonly unknown[],
  current: readonly unknown[],
  mergeKey: string,
) {
  for (const list of mergeKey === "" ? [] : [merged, wanted, current]) requireMergeKey(list, mergeKey);
  const wantedRank = ranks(wanted, mergeKey);
  const currentRank = ranks(current, mergeKey);
  const rankIn = (rank: ReadonlyMap<unknown, number>) => (element: unknown) =>
    rank.get(identityOf(element, mergeKey)) ?? -1;
  const byRank = (rank: (element: unknown) => number) => (left: unknown, right: unknown) => rank(left) - rank(right);
  const inWanted = rankIn(wantedRank);
  const inCurrent = rankIn(currentRank);
  const fromPatch = merged.filter((element) => inWanted(element) >= 0).sort(byRank(inWanted));
  const serverOnly = merged.filter((element) => inWanted(element) < 0).sort(byRank(inCurrent));
  return interleave(serverOnly, fromPatch, inCurrent);
}

/** @throws StrategicPatchError when an element is not a map, or has no merge key */
export function requireMergeKey(list: readonly unknown[], mergeKey: string): void {
  for (const element of list) {
    if (typeof element !== "object" || element === null || Array.isArray(element)) {
      throw badArgType("map[string]interface {}", element);
    }
    if (!Object.hasOwn(element, mergeKey)) throw noMergeKey(element, mergeKey);
  }
}

/** The first position counts if an element occurs twice. */
function ranks(list: readonly unknown[], mergeKey: string): ReadonlyMap<unknown, number> {
  const ranks = new Map<unknown, number>();
  list.forEach((element, index) => {
    const identity = identityOf(element, mergeKey);
    if (!ranks.has(identity)) ranks.set(identity, index);
  });
  return ranks;
}

/** Mirrors mergeSortedSlice. */
function interleave(
  serverOnly: readonly unknown[],
  fromPatch: readonly unknown[],
  rank: (element: unknown) => number,
): unknown[] {
  const all: unknown[] = [];
  let i = 0;
  let j = 0;
  while (i < serverOnly.length && j < fromPatch.length) {
    const [left, right] = [rank(serverOnly[i]), rank(fromPatch[j])];
    if (left >= 0 && right >= 0 && left < right) all.push(serverOnly[i++]);
    else all.push(fromPatch[j++]);
  }
  return [...all, ...serverOnly.slice(i), ...fromPatch.slice(j)];
}
