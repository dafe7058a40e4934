import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { type LevelVersion, levelText } from "./namespace-policy.js";
import { checkedPod } from "./pod-spec.js";
import { evaluatePod, reasonsOf } from "./policy/evaluate.js";

const MAX_PODS = 3000;

/**
 * The warnings about pods that are already there when a namespace begins to enforce a level.
 *
 * Mirrors EvaluatePodsInNamespace. Differs: has no time limit, only the limit of pods.
 */
export function warningsAbout(
  pods: readonly KubeObject[],
  namespace: string,
  enforce: LevelVersion,
  kubeVersion: string,
): string[] {
  const checked = onePerControllerFirst(pods).slice(0, MAX_PODS);
  const names = new Map<string, string[]>();
  for (const object of checked) {
    const pod = checkedPod("pods", object);
    const reasons = pod === undefined ? "" : reasonsOf(evaluatePod(enforce, kubeVersion, pod));
    if (reasons === "") continue;
    const violating = names.get(reasons) ?? [];
    violating.push(object.metadata.name ?? "");
    names.set(reasons, violating);
  }
  const warnings: string[] = [];
  if (checked.length < pods.length) {
    const count = `the first ${checked.length} of ${pods.length} existing pods`;
    warnings.push(`new PodSecurity enforce level only checked against ${count}`);
  }
  if (names.size > 0) {
    const level = levelText(enforce);
    warnings.push(`existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${level}"`);
  }
  return [...warnings, ...[...names].map(([reasons, violating]) => `${podsText(violating)}: ${reasons}`).sort()];
}

/** `web-1 (and 2 other pods)` */
function podsText(names: readonly string[]): string {
  const [first = ""] = [...names].sort();
  if (names.length === 1) return first;
  return `${first} (and ${names.length - 1} other ${names.length === 2 ? "pod" : "pods"})`;
}

/** The pods of one controller are alike. Mirrors prioritizePods. */
function onePerControllerFirst(pods: readonly KubeObject[]): readonly KubeObject[] {
  const seen = new Set<string>();
  const later: KubeObject[] = [];
  const first = pods.filter((pod) => {
    const controller = pod.metadata.ownerReferences?.find((owner) => owner.controller === true)?.uid;
    if (controller === undefined) return true;
    const isFirst = !seen.has(controller);
    if (!isFirst) later.push(pod);
    seen.add(controller);
    return isFirst;
  });
  return [...first, ...later];
}
