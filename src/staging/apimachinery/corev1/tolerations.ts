import type { V1Taint, V1Toleration } from "@kubernetes/client-node";
import type { Wire } from "../wire.js";

/** Which taints a pod tolerates, and for how long. Pure. */

type Taint = Wire<V1Taint>;
type Toleration = Wire<V1Toleration>;

/** Mirrors ToleratesTaint in k8s.io/api/core/v1/toleration.go. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { effect = "", key = "", operator, value = "" } = toleration;
  if (effect !== "" && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  return operator === "Exists" || value === (taint.value ?? "");
}

/** Mirrors FindMatchingUntoleratedTaint in k8s.io/component-helpers/scheduling/corev1/helpers.go. */
export function findUntoleratedTaint<T extends Taint>(
  taints: readonly T[],
  tolerations: readonly Toleration[],
  effects: ReadonlySet<string>,
): T | undefined {
  return taints.find((taint) => effects.has(taint.effect) && !tolerations.some((one) => tolerates(one, taint)));
}

/**
 * The first toleration that matches each taint. Mirrors GetMatchingTolerations in pkg/apis/core/v1/helper/helpers.go.
 * @returns undefined when a taint is not tolerated
 */
export function matchingTolerations<T extends Toleration>(
  taints: readonly Taint[],
  tolerations: readonly T[],
): readonly T[] | undefined {
  const used: T[] = [];
  for (const taint of taints) {
    const toleration = tolerations.find((one) => tolerates(one, taint));
    if (toleration === undefined) return undefined;
    used.push(toleration);
  }
  return used;
}

/**
 * Mirrors getMinTolerationTime in pkg/controller/nodelifecycle/scheduler/taint_manager.go.
 * @returns seconds; undefined: forever
 */
export function minTolerationSeconds(used: readonly Toleration[]): number | undefined {
  if (used.length === 0) return 0;
  const limits = used.flatMap(({ tolerationSeconds }) => (tolerationSeconds === undefined ? [] : [tolerationSeconds]));
  return limits.length === 0 ? undefined : Math.max(0, Math.min(...limits));
}

/** Adds a toleration, or puts it in the place of one that differs only in its time. Mirrors AddOrUpdateTolerationInPodSpec in pkg/apis/core/v1/helper/helpers.go. */
export function withToleration(tolerations: readonly Toleration[], added: Toleration): readonly Toleration[] {
  const fields = ["key", "operator", "value", "effect"] as const;
  const isSame = (one: Toleration) => fields.every((field) => (one[field] ?? "") === (added[field] ?? ""));
  if (!tolerations.some(isSame)) return [...tolerations, added];
  return tolerations.map((one) => (isSame(one) ? added : one));
}
