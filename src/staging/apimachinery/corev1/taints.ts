import { isLabelValue, isQualifiedName } from "../api/names.js";
import type { Taint } from "../api/node.js";

export const TAINT_EFFECTS: readonly string[] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** Why a taint's key, value or effect is wrong; undefined: it is right. Mirrors CheckTaintValidation in pkg/util/taints/taints.go. */
export function taintProblem({ key, value, effect }: Taint): string | undefined {
  const [problem] = [...isQualifiedName(key), ...isLabelValue(value ?? "")];
  if (problem !== undefined) return problem;
  return effect === "" || TAINT_EFFECTS.includes(effect) ? undefined : `invalid taint effect: ${effect}`;
}
