import type {
  RbacV1Subject,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1PolicyRule,
  V1RoleRef,
} from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";

export const RBAC_GROUP = "rbac.authorization.k8s.io";

/** A rule with empty lists for the absent ones. */
export type PolicyRule = Required<Wire<V1PolicyRule>>;

export type Subject = Required<Pick<Wire<RbacV1Subject>, "kind" | "name" | "namespace">>;

export type RoleRef = Pick<Wire<V1RoleRef>, "kind" | "name">;

/** The rules of a Role or ClusterRole as stored. */
export function rulesOf(role: KubeObject): PolicyRule[] {
  return ((role as Wire<V1ClusterRole>).rules ?? []).map(
    ({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }) => ({
      verbs: verbs ?? [],
      apiGroups,
      resources,
      resourceNames,
      nonResourceURLs,
    }),
  );
}

/** The subjects of a RoleBinding or ClusterRoleBinding as stored. */
export function subjectsOf(binding: KubeObject): Subject[] {
  return ((binding as Wire<V1ClusterRoleBinding>).subjects ?? []).map(({ kind, name, namespace = "" }) => ({
    kind,
    name,
    namespace,
  }));
}

export function roleRefOf(binding: KubeObject): RoleRef {
  return (binding as Partial<Wire<V1ClusterRoleBinding>>).roleRef ?? { kind: "", name: "" };
}
