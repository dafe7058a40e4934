import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { goQuote } from "../../../../staging/apimachinery/scheme/go-text.js";
import type { UserInfo } from "../../../../staging/server/authentication/user.js";
import type {
  AuthorizationAttributes,
  AuthorizationCause,
  AuthorizationDecision,
  Authorizer,
  NonResourceRule,
  ResourceRule,
} from "../../../../staging/server/authorization/authorizer.js";
import { ObjectView, type ObjectViewDeps } from "../object-view.js";
import {
  type PolicyRule,
  RBAC_GROUP,
  type RoleRef,
  roleRefOf,
  rulesOf,
  type Subject,
  subjectsOf,
} from "./rbac-types.js";
import { ruleAllows } from "./rule-matching.js";

/** One binding that applies to a user, with the rules of its role. */
export interface Grant {
  /** `ClusterRoleBinding "x" of ClusterRole "y" to Group "z"` */
  readonly description: string;
  readonly rules: readonly PolicyRule[];
  /** the role that the binding names does not exist */
  readonly missingRole?: string;
}

/** The permissions of one user, computed once per state of the stored objects. */
interface UserGrants {
  readonly generation: number;
  readonly cluster: readonly Grant[];
  readonly byNamespace: Map<string, readonly Grant[]>;
}

/**
 * Authorizes with the stored roles and bindings.
 *
 * Mirrors plugin/pkg/auth/authorizer/rbac/rbac.go and pkg/registry/rbac/validation/rule.go (VisitRulesFor).
 * Differs: tries bindings oldest first, upstream in the order of a hash map; waits until the view has caught up with the
 * store before it refuses, so that a binding is in force once the client has the response to its creation.
 */
export class RbacAuthorizer implements Authorizer {
  readonly #clusterRoles: ObjectView;
  readonly #clusterRoleBindings: ObjectView;
  readonly #roles: ObjectView;
  readonly #roleBindings: ObjectView;
  #generation = 0;
  #rules = new WeakMap<KubeObject, readonly PolicyRule[]>();
  /** users are shared objects: authenticators return the same one for the same credential */
  readonly #grants = new WeakMap<UserInfo, UserGrants>();

  constructor(deps: ObjectViewDeps) {
    const changed = () => {
      this.#generation++;
    };
    const view = (resource: string) => new ObjectView(`${resource}.${RBAC_GROUP}`, deps, changed);
    this.#clusterRoles = view("clusterroles");
    this.#clusterRoleBindings = view("clusterrolebindings");
    this.#roles = view("roles");
    this.#roleBindings = view("rolebindings");
  }

  get views(): readonly ObjectView[] {
    return [this.#clusterRoles, this.#clusterRoleBindings, this.#roles, this.#roleBindings];
  }

  async catchUp(): Promise<void> {
    await Promise.all(this.views.map((view) => view.catchUp()));
  }

  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationDecision> {
    const early = this.#decide(attributes);
    if (early.allowed) return early;
    const generation = this.#generation;
    await this.catchUp();
    return generation === this.#generation ? early : this.#decide(attributes);
  }

  #decide(attributes: AuthorizationAttributes): AuthorizationDecision {
    const missing: string[] = [];
    const all = this.#grantsOf(attributes.user, attributes.namespace);
    for (const grants of all) {
      for (const grant of grants) {
        if (grant.missingRole !== undefined) missing.push(grant.missingRole);
        if (grant.rules.some((rule) => ruleAllows(attributes, rule))) {
          const reason = `RBAC: allowed by ${grant.description}` as const;
          return { allowed: true, reason, cause: reason };
        }
      }
    }
    if (missing.length === 0) return { allowed: false, reason: "", cause: noRule(all.flat()) };
    const reason = `RBAC: ${aggregate(missing)}` as const;
    return { allowed: false, reason, cause: reason };
  }

  async rulesFor(user: UserInfo, namespace: string): ReturnType<Authorizer["rulesFor"]> {
    await this.catchUp();
    const resourceRules: ResourceRule[] = [];
    const nonResourceRules: NonResourceRule[] = [];
    const missing: string[] = [];
    for (const grant of this.#grantsOf(user, namespace).flat()) {
      if (grant.missingRole !== undefined) missing.push(grant.missingRole);
      for (const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } of grant.rules) {
        if (resources.length > 0) {
          resourceRules.push({ verbs, apiGroups, resources, ...(resourceNames.length > 0 ? { resourceNames } : {}) });
        }
        if (nonResourceURLs.length > 0) nonResourceRules.push({ verbs, nonResourceURLs });
      }
    }
    const evaluationError = missing.length === 0 ? {} : { evaluationError: aggregate(missing) };
    return { resourceRules, nonResourceRules, incomplete: false, ...evaluationError };
  }

  /** All rules that a user holds in a namespace ("" for cluster scope), and the roles that were not found. */
  async policyRulesFor(user: UserInfo, namespace: string): Promise<{ rules: PolicyRule[]; missing: string[] }> {
    await this.catchUp();
    const grants = this.#grantsOf(user, namespace).flat();
    return {
      rules: grants.flatMap((grant) => grant.rules),
      missing: grants.flatMap((grant) => grant.missingRole ?? []),
    };
  }

  /** The rules behind a binding's roleRef; undefined when the role does not exist. */
  roleRules(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    const role =
      roleRef.kind === "Role"
        ? this.#roles.get(namespace, roleRef.name)
        : this.#clusterRoles.get(undefined, roleRef.name);
    if (role === undefined) return undefined;
    let rules = this.#rules.get(role);
    if (rules === undefined) {
      rules = rulesOf(role);
      this.#rules.set(role, rules);
    }
    return rules;
  }

  #grantsOf(user: UserInfo, namespace: string): (readonly Grant[])[] {
    let known = this.#grants.get(user);
    if (known === undefined || known.generation !== this.#generation) {
      const cluster = this.#collect(user, "", this.#clusterRoleBindings);
      known = { generation: this.#generation, cluster, byNamespace: new Map() };
      this.#grants.set(user, known);
    }
    if (namespace === "") return [known.cluster];
    let inNamespace = known.byNamespace.get(namespace);
    if (inNamespace === undefined) {
      inNamespace = this.#collect(user, namespace, this.#roleBindings);
      known.byNamespace.set(namespace, inNamespace);
    }
    return [known.cluster, inNamespace];
  }

  #collect(user: UserInfo, namespace: string, bindings: ObjectView): Grant[] {
    const matching: { readonly binding: KubeObject; readonly subject: Subject }[] = [];
    for (const binding of bindings.objects()) {
      if ((binding.metadata.namespace ?? "") !== namespace) continue;
      const subject = subjectsOf(binding).find((candidate) => appliesTo(candidate, user, namespace));
      if (subject !== undefined) matching.push({ binding, subject });
    }
    const age = (binding: KubeObject) => Number(binding.metadata.resourceVersion ?? 0);
    matching.sort((a, b) => age(a.binding) - age(b.binding));
    return matching.map(({ binding, subject }) => {
      const roleRef = roleRefOf(binding);
      const rules = this.roleRules(roleRef, namespace);
      const description = describeBinding(binding, subject, namespace);
      if (rules !== undefined) return { description, rules };
      return { description, rules: [], missingRole: roleNotFound(roleRef) };
    });
  }
}

function noRule(grants: readonly Grant[]): AuthorizationCause {
  if (grants.length === 0) return "RBAC: no binding applies to the user";
  return `RBAC: no rule allows it in ${grants.length === 1 ? "the binding" : `the ${grants.length} bindings`} of the user`;
}

/** `clusterrole.rbac.authorization.k8s.io "x" not found`: the kind in lower case, like upstream's listers. */
function roleNotFound(roleRef: RoleRef): string {
  return `${roleRef.kind.toLowerCase()}.${RBAC_GROUP} ${goQuote(roleRef.name)} not found`;
}

/** Mirrors pkg/registry/rbac/validation/rule.go (appliesToUser). */
function appliesTo(subject: Subject, user: UserInfo, namespace: string): boolean {
  switch (subject.kind) {
    case "User":
      return subject.name === user.username;
    case "Group":
      return user.groups.includes(subject.name);
    case "ServiceAccount": {
      const accountNamespace = subject.namespace === "" ? namespace : subject.namespace;
      if (accountNamespace === "") return false;
      return user.username === `system:serviceaccount:${accountNamespace}:${subject.name}`;
    }
    default:
      return false;
  }
}

/** Mirrors pkg/registry/rbac/validation/rule.go (clusterRoleBindingDescriber, roleBindingDescriber, describeSubject). */
function describeBinding(binding: KubeObject, subject: Subject, namespace: string): string {
  const roleRef = roleRefOf(binding);
  const name = binding.metadata.name ?? "";
  const kind =
    namespace === "" ? `ClusterRoleBinding ${goQuote(name)}` : `RoleBinding ${goQuote(`${name}/${namespace}`)}`;
  const subjectName =
    subject.kind === "ServiceAccount" ? `${subject.name}/${subject.namespace || namespace}` : subject.name;
  return `${kind} of ${roleRef.kind} ${goQuote(roleRef.name)} to ${subject.kind} ${goQuote(subjectName)}`;
}

/** One error as it is, several in brackets. Mirrors k8s.io/apimachinery/pkg/util/errors (aggregate). */
function aggregate(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length === 1 ? (distinct[0] ?? "") : `[${distinct.join(", ")}]`;
}
