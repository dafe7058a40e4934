import { goQuoteList } from "../../../../staging/apimachinery/scheme/go-text.js";
import type { AuthorizationAttributes } from "../../../../staging/server/authorization/authorizer.js";
import { withoutEnding } from "../../../../util/text/linear-text.js";
import type { PolicyRule } from "./rbac-types.js";

/** Mirrors plugin/pkg/auth/authorizer/rbac/rbac.go (RuleAllows). */
export function ruleAllows(attributes: AuthorizationAttributes, rule: PolicyRule): boolean {
  if (!attributes.isResourceRequest) {
    return verbMatches(rule, attributes.verb) && nonResourceUrlMatches(rule, attributes.path);
  }
  return (
    verbMatches(rule, attributes.verb) &&
    apiGroupMatches(rule, attributes.apiGroup) &&
    resourceMatches(rule, attributes.resource, attributes.subresource) &&
    resourceNameMatches(rule, attributes.name)
  );
}

// The five below mirror pkg/apis/rbac/v1/evaluation_helpers.go.

function verbMatches({ verbs }: PolicyRule, verb: string): boolean {
  return verbs.includes("*") || verbs.includes(verb);
}

function apiGroupMatches({ apiGroups }: PolicyRule, apiGroup: string): boolean {
  return apiGroups.includes("*") || apiGroups.includes(apiGroup);
}

/** Only `pods/log` or a star before the slash matches a subresource; `pods/*` has no special meaning. */
function resourceMatches({ resources }: PolicyRule, resource: string, subresource: string): boolean {
  if (resources.includes("*")) return true;
  if (subresource === "") return resources.includes(resource);
  return resources.includes(`${resource}/${subresource}`) || resources.includes(`*/${subresource}`);
}

function resourceNameMatches({ resourceNames }: PolicyRule, name: string): boolean {
  return resourceNames.length === 0 || resourceNames.includes(name);
}

function nonResourceUrlMatches({ nonResourceURLs }: PolicyRule, path: string): boolean {
  return nonResourceURLs.some((url) => urlCovers(url, path));
}

function urlCovers(url: string, path: string): boolean {
  if (url === "*" || url === path) return true;
  return url.endsWith("*") && path.startsWith(withoutEnding(url, "*"));
}

/**
 * The parts of `wanted` that the owner does not hold, each with one verb and one resource (or path).
 * Mirrors k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go (Covers, BreakdownRule).
 */
export function uncovered(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(breakDown).filter((part) => !owned.some((rule) => ruleCovers(rule, part)));
}

const EMPTY: Omit<PolicyRule, "verbs"> = { apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

function breakDown(rule: PolicyRule): PolicyRule[] {
  const parts: PolicyRule[] = [];
  for (const apiGroup of rule.apiGroups) {
    for (const resource of rule.resources) {
      for (const verb of rule.verbs) {
        const part = { ...EMPTY, apiGroups: [apiGroup], resources: [resource], verbs: [verb] };
        if (rule.resourceNames.length === 0) parts.push(part);
        for (const name of rule.resourceNames) parts.push({ ...part, resourceNames: [name] });
      }
    }
  }
  for (const url of rule.nonResourceURLs) {
    for (const verb of rule.verbs) parts.push({ ...EMPTY, nonResourceURLs: [url], verbs: [verb] });
  }
  return parts;
}

function ruleCovers(owner: PolicyRule, part: PolicyRule): boolean {
  if (!part.verbs.every((verb) => verbMatches(owner, verb))) return false;
  const [url] = part.nonResourceURLs;
  if (url !== undefined) return owner.nonResourceURLs.some((ownedUrl) => urlCovers(ownedUrl, url));
  const namesCovered =
    owner.resourceNames.length === 0 ||
    (part.resourceNames.length > 0 && part.resourceNames.every((name) => owner.resourceNames.includes(name)));
  return (
    namesCovered &&
    part.apiGroups.every((apiGroup) => apiGroupMatches(owner, apiGroup)) &&
    part.resources.every((resource) => {
      const [name = "", subresource = ""] = resource.split("/", 2);
      return resourceMatches(owner, name, subresource);
    })
  );
}

/** Merges the verbs into one rule per resource. Mirrors pkg/registry/rbac/validation/policy_compact.go (CompactRules). */
export function compactRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const compacted: PolicyRule[] = [];
  const verbsByResource = new Map<string, { readonly rule: PolicyRule; readonly verbs: string[] }>();
  for (const rule of rules) {
    if (rule.resourceNames.length > 0 || rule.nonResourceURLs.length > 0) {
      compacted.push(rule);
      continue;
    }
    const key = `${rule.apiGroups.join()}|${rule.resources.join()}`;
    const known = verbsByResource.get(key);
    if (known === undefined) verbsByResource.set(key, { rule, verbs: [...rule.verbs] });
    else known.verbs.push(...rule.verbs);
  }
  for (const { rule, verbs } of verbsByResource.values()) compacted.push({ ...rule, verbs });
  return compacted;
}

/** `{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}`. Mirrors pkg/apis/rbac/v1/evaluation_helpers.go (CompactString). */
export function ruleText({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: PolicyRule): string {
  const parts = [
    ["APIGroups", apiGroups],
    ["Resources", resources],
    ["NonResourceURLs", nonResourceURLs],
    ["ResourceNames", resourceNames],
    ["Verbs", verbs],
  ] as const;
  const filled = parts.filter(([, values]) => values.length > 0);
  return `{${filled.map(([name, values]) => `${name}:${goQuoteList(values)}`).join(", ")}}`;
}
