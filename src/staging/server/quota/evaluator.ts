import type {
  V1ResourceQuota,
  V1ResourceQuotaSpec,
  V1ScopedResourceSelectorRequirement,
} from "@kubernetes/client-node";
import type { KubeObject } from "../../apimachinery/api/meta.js";
import { sumQuantities } from "../../apimachinery/quantity.js";
import type { Wire } from "../../apimachinery/wire.js";
import type { Amounts } from "./resources.js";

export type ResourceQuota = Wire<V1ResourceQuota>;
export type ScopeRequirement = Wire<V1ScopedResourceSelectorRequirement>;

/** Measures what the objects of one resource use of a quota. Mirrors Evaluator in k8s.io/apiserver/pkg/quota/v1/interfaces.go. */
export interface Evaluator {
  /** `pods`, `deployments.apps` */
  readonly resource: string;
  /** Reports whether such a write can use more of a quota. */
  handles(operation: string): boolean;
  /** The names among these that its objects use. */
  matchingResources(names: readonly string[]): readonly string[];
  /** Reports whether the object is in the scope of a quota. */
  matchesScope(requirement: ScopeRequirement, object: KubeObject): boolean;
  /** @returns what the object must specify if a quota limits these resources, as a message; undefined: nothing is missing */
  missing(limited: readonly string[], object: KubeObject): string | undefined;
  usage(object: KubeObject): Amounts;
}

/** `count/pods`, `count/deployments.apps`. Mirrors ObjectCountQuotaResourceNameFor in k8s.io/apiserver/pkg/quota/v1/generic/evaluator.go. */
export function countName(resource: string): string {
  return `count/${resource}`;
}

/** The names in order, each once. Mirrors Intersection. */
export function intersection(names: readonly string[], known: readonly string[]): readonly string[] {
  return [...new Set(names)].filter((name) => known.includes(name)).sort();
}

/** Evaluates a resource of which a quota does not limit parts of objects. Its objects are in no scope. */
export const WITHOUT_SCOPES: Pick<Evaluator, "matchesScope" | "missing"> = {
  matchesScope: () => false,
  missing: () => undefined,
};

/**
 * Counts objects. Mirrors objectCountEvaluator.
 * @param alias the name that quotas used before there were names for all resources: `secrets`
 */
export function objectCountEvaluator(resource: string, alias?: string): Evaluator {
  const names = [countName(resource), ...(alias === undefined ? [] : [alias])];
  const usage = Object.fromEntries(names.map((name) => [name, "1"]));
  return {
    ...WITHOUT_SCOPES,
    resource,
    handles: (operation) => operation === "CREATE",
    matchingResources: (input) => intersection(input, names),
    usage: () => usage,
  };
}

/** The scopes of a quota, and its scope selector. Mirrors getScopeSelectorsFromQuota. */
function scopesOf({ scopes, scopeSelector }: Wire<V1ResourceQuotaSpec>): readonly ScopeRequirement[] {
  const named = (scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" }));
  return [...named, ...(scopeSelector?.matchExpressions ?? [])];
}

function isInScope(evaluator: Evaluator, spec: Wire<V1ResourceQuotaSpec> | undefined, object: KubeObject): boolean {
  return scopesOf(spec ?? {}).every((requirement) => evaluator.matchesScope(requirement, object));
}

/** Reports whether the quota limits something that the object uses. Mirrors Matches. */
export function matchesQuota(evaluator: Evaluator, { spec, status }: ResourceQuota, object: KubeObject): boolean {
  return evaluator.matchingResources(Object.keys(status?.hard ?? {})).length > 0 && isInScope(evaluator, spec, object);
}

/**
 * What the objects use together of the resources that the quota limits.
 * Mirrors CalculateUsage in k8s.io/apiserver/pkg/quota/v1/resources.go, and CalculateUsageStats.
 * @param objectsOf the objects of an evaluator's resource in the quota's namespace; called for those that the quota limits
 */
export function calculateUsage(
  { spec = {} }: ResourceQuota,
  evaluators: readonly Evaluator[],
  objectsOf: (evaluator: Evaluator) => readonly KubeObject[],
): Record<string, string> {
  const limited = Object.keys(spec.hard ?? {});
  const found = new Map<string, string[]>();
  for (const evaluator of evaluators) {
    const names = evaluator.matchingResources(limited);
    if (names.length === 0) continue;
    for (const name of names) found.set(name, ["0", ...(found.get(name) ?? [])]);
    for (const object of objectsOf(evaluator)) {
      if (!isInScope(evaluator, spec, object)) continue;
      const usage = evaluator.usage(object);
      for (const name of names) if (usage[name] !== undefined) found.get(name)?.push(usage[name]);
    }
  }
  return Object.fromEntries([...found].map(([name, amounts]) => [name, sumQuantities(amounts)]));
}
