import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { forbidden, notFound } from "../../../staging/apimachinery/errors.js";
import { goQuote, goQuoteList } from "../../../staging/apimachinery/scheme/go-text.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../../staging/server/admission/interfaces.js";
import type { UserInfo } from "../../../staging/server/authentication/user.js";
import type { Authorizer } from "../../../staging/server/authorization/authorizer.js";
import type { RbacAuthorizer } from "../auth/authorization/rbac.js";
import { type PolicyRule, RBAC_GROUP, type RoleRef, roleRefOf, rulesOf } from "../auth/authorization/rbac-types.js";
import { compactRules, ruleText, uncovered } from "../auth/authorization/rule-matching.js";
import { PRIVILEGED_GROUP } from "../auth/authorization/union.js";

export interface EscalationDeps {
  /** authorizes the verbs `escalate` and `bind` */
  readonly authorizer: Authorizer;
  readonly rbac: RbacAuthorizer;
}

const FULL_AUTHORITY: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"], resourceNames: [], nonResourceURLs: [] },
  { verbs: ["*"], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ["*"] },
];

/**
 * Users can only grant permissions that they hold: a role requires all of its rules (or the verb `escalate`), a binding
 * all rules of its role (or the verb `bind`).
 *
 * Mirrors pkg/registry/rbac/{role,clusterrole,rolebinding,clusterrolebinding}/policybased/storage.go.
 * Differs: upstream wraps the storage; here it is an admission plugin with the same results.
 */
export function rbacEscalationCheck(deps: EscalationDeps): AdmissionPlugin {
  return {
    name: "RBACEscalation",
    handles: ({ group, subresource, operation }) =>
      group === RBAC_GROUP && subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
    async admit(attributes) {
      const { resource, object, user } = attributes;
      if (object === undefined) return object;
      if (user.groups.includes(PRIVILEGED_GROUP)) return object;
      if (resource === "roles" || resource === "clusterroles") await checkRole(deps, attributes, object);
      if (resource === "rolebindings" || resource === "clusterrolebindings") {
        await checkBinding(deps, attributes, object);
      }
      return object;
    },
  };
}

async function checkRole(deps: EscalationDeps, attributes: AdmissionAttributes, role: KubeObject): Promise<void> {
  const { resource, namespace, user, oldObject } = attributes;
  const name = role.metadata.name ?? "";
  const isSame = (field: string) => isDeepStrictEqual(role[field], oldObject?.[field]);
  if (oldObject !== undefined && isSame("rules") && isSame("aggregationRule")) return;
  if (await mayUseVerb(deps, user, "escalate", { resource, namespace, name })) return;
  const problem = await escalationProblem(deps, user, namespace, rulesOf(role));
  if (problem !== undefined) throw forbidden({ group: RBAC_GROUP, resource }, name, problem);
  const hasAggregation = role["aggregationRule"] !== undefined && role["aggregationRule"] !== null;
  if (hasAggregation && (await escalationProblem(deps, user, "", FULL_AUTHORITY)) !== undefined) {
    const why = "must have cluster-admin privileges to use the aggregationRule";
    throw forbidden({ group: RBAC_GROUP, resource }, name, why);
  }
}

async function checkBinding(deps: EscalationDeps, attributes: AdmissionAttributes, binding: KubeObject): Promise<void> {
  const { resource, namespace, user, oldObject } = attributes;
  const roleRef = roleRefOf(binding);
  const isSame = (field: string) => isDeepStrictEqual(binding[field], oldObject?.[field]);
  if (oldObject !== undefined && isSame("subjects") && isSame("roleRef")) return;
  const roleResource = roleRef.kind === "Role" ? "roles" : "clusterroles";
  if (await mayUseVerb(deps, user, "bind", { resource: roleResource, namespace, name: roleRef.name })) return;
  const rules = await roleRules(deps, roleRef, namespace);
  if (rules === undefined) {
    throw notFound({ group: RBAC_GROUP, resource: roleRef.kind.toLowerCase() }, roleRef.name);
  }
  const problem = await escalationProblem(deps, user, namespace, rules);
  if (problem !== undefined) throw forbidden({ group: RBAC_GROUP, resource }, binding.metadata.name ?? "", problem);
}

async function roleRules({ rbac }: EscalationDeps, roleRef: RoleRef, namespace: string) {
  await rbac.catchUp();
  return rbac.roleRules(roleRef, namespace);
}

/** Mirrors pkg/registry/rbac/escalation_check.go (RoleEscalationAuthorized, BindingAuthorized). */
async function mayUseVerb(
  { authorizer }: EscalationDeps,
  user: UserInfo,
  verb: "escalate" | "bind",
  role: { readonly resource: string; readonly namespace: string; readonly name: string },
): Promise<boolean> {
  const { resource, namespace, name } = role;
  const target = { apiGroup: RBAC_GROUP, apiVersion: "*", resource, subresource: "", namespace, name, path: "" };
  return (await authorizer.authorize({ user, verb, isResourceRequest: true, ...target })).allowed;
}

/** Mirrors pkg/registry/rbac/validation/rule.go (ConfirmNoEscalation). @returns the reason of a refusal, or undefined */
async function escalationProblem(
  { rbac }: EscalationDeps,
  user: UserInfo,
  namespace: string,
  wanted: readonly PolicyRule[],
): Promise<string | undefined> {
  const { rules, missing } = await rbac.policyRulesFor(user, namespace);
  const lacking = uncovered(rules, wanted);
  if (lacking.length === 0) return undefined;
  const lines = [...new Set(compactRules(lacking).map(ruleText))].sort();
  const who = `user ${goQuote(user.username)} (groups=${goQuoteList(user.groups)})`;
  const errors = missing.length === 0 ? "" : `; resolution errors: [${missing.join(" ")}]`;
  return `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join("\n")}${errors}`;
}
