import type { Taint, Toleration } from "../support/objects.js";

/** Mirrors ToleratesTaint in k8s.io/api/core/v1/toleration.go. Pure. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (!isUnset(toleration.effect) && toleration.effect !== taint.effect) return false;
  if (!isUnset(toleration.key) && toleration.key !== taint.key) return false;
  if (toleration.operator === "Exists") return true;
  return (toleration.value ?? "") === (taint.value ?? "");
}

function isUnset(text: string | undefined): boolean {
  return text === undefined || text === "";
}

/**
 * For each taint the first toleration that covers it. Mirrors GetMatchingTolerations in pkg/apis/core/v1/helper. Pure.
 * @returns undefined when a taint is not tolerated
 */
export function matchingTolerations(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
): readonly Toleration[] | undefined {
  const used: Toleration[] = [];
  for (const taint of taints) {
    const toleration = tolerations.find((one) => tolerates(one, taint));
    if (toleration === undefined) return undefined;
    used.push(toleration);
  }
  return used;
}

/** Mirrors getMinTolerationTime. @returns seconds; undefined: for ever */
export function minTolerationSeconds(used: readonly Toleration[]): number | undefined {
  if (used.length === 0) return 0;
  const limits = used.flatMap(({ tolerationSeconds }) => (tolerationSeconds === undefined ? [] : [tolerationSeconds]));
  return limits.length === 0 ? undefined : Math.max(0, Math.min(...limits));
}
