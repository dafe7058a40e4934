import { timestamp } from "../rest/object-meta.js";
import type { Definition, DefinitionCondition } from "./types.js";

/** Mirrors k8s.io/apiextensions-apiserver/pkg/apihelpers/helpers.go. */

export function conditionOf({ status }: Definition, type: string): DefinitionCondition | undefined {
  return status?.conditions?.find((one) => one.type === type);
}

export function isTrue(definition: Definition, type: string): boolean {
  return conditionOf(definition, type)?.status === "True";
}

/** Sets a condition. Its time changes with its status only. Mirrors SetCRDCondition. */
export function withCondition(
  definition: Definition,
  condition: Omit<DefinitionCondition, "lastTransitionTime">,
  nowMs: number,
): Definition {
  const conditions = definition.status?.conditions ?? [];
  const before = conditionOf(definition, condition.type);
  const { type, status, ...rest } = condition;
  const lastTransitionTime =
    before?.status === status ? (before.lastTransitionTime ?? timestamp(nowMs)) : timestamp(nowMs);
  const after = { type, status, lastTransitionTime, ...rest };
  const others = conditions.map((one) => (one.type === type ? after : one));
  return {
    ...definition,
    status: { ...definition.status, conditions: before === undefined ? [...conditions, after] : others },
  };
}
