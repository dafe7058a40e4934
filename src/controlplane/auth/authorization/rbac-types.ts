import type { KubeObject } from "../../../apimachinery/api/meta.js";
import { isRecord } from "../../../util/records.js";
import { stringsOf, textOf } from "../reading.js";

export const RBAC_GROUP = "rbac.authorization.k8s.io";

/** Mirrors PolicyRule in k8s.io/api/rbac/v1; absent lists are empty. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

export interface RoleRef {
  readonly kind: string;
  readonly name: string;
}

/** The rules of a Role or ClusterRole as stored. */
export function rulesOf(role: KubeObject): PolicyRule[] {
  const rules: unknown = role["rules"];
  return Array.isArray(rules) ? rules.filter(isRecord).map(policyRule) : [];
}

function policyRule(rule: Readonly<Record<string, unknown>>): PolicyRule {
  return {
    verbs: stringsOf(rule["verbs"]),
    apiGroups: stringsOf(rule["apiGroups"]),
    resources: stringsOf(rule["resources"]),
    resourceNames: stringsOf(rule["resourceNames"]),
    nonResourceURLs: stringsOf(rule["nonResourceURLs"]),
  };
}

/** The subjects of a RoleBinding or ClusterRoleBinding as stored. */
export function subjectsOf(binding: KubeObject): Subject[] {
  const subjects: unknown = binding["subjects"];
  if (!Array.isArray(subjects)) return [];
  return subjects.filter(isRecord).map((subject) => ({
    kind: textOf(subject["kind"]),
    name: textOf(subject["name"]),
    namespace: textOf(subject["namespace"]),
  }));
}

export function roleRefOf(binding: KubeObject): RoleRef {
  const roleRef: unknown = binding["roleRef"];
  if (!isRecord(roleRef)) return { kind: "", name: "" };
  return { kind: textOf(roleRef["kind"]), name: textOf(roleRef["name"]) };
}
