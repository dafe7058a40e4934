import type { UserInfo } from "../../../../staging/server/authentication/user.js";
import type {
  AuthorizationAttributes,
  AuthorizationCause,
  AuthorizationDecision,
  Authorizer,
} from "../../../../staging/server/authorization/authorizer.js";

/** Members have all rights; no other authorizer is called for them. */
export const PRIVILEGED_GROUP = "system:masters";

const PRIVILEGED: AuthorizationDecision = {
  allowed: true,
  reason: "",
  cause: `Privileged groups: the user is in the group ${PRIVILEGED_GROUP}, which has all rights`,
};

/**
 * Calls the authorizers in order: the first that allows or denies decides; the reasons of those without an opinion are
 * collected. Members of system:masters are always allowed.
 *
 * Mirrors k8s.io/apiserver/pkg/authorization/union/union.go and authorizerfactory (NewPrivilegedGroups).
 */
export class UnionAuthorizer implements Authorizer {
  constructor(readonly authorizers: readonly Authorizer[]) {}

  async authorize(attributes: AuthorizationAttributes): Promise<AuthorizationDecision> {
    if (attributes.user.groups.includes(PRIVILEGED_GROUP)) return PRIVILEGED;
    const reasons: string[] = [];
    const causes: AuthorizationCause[] = [];
    for (const authorizer of this.authorizers) {
      const decision = await authorizer.authorize(attributes);
      if (decision.allowed || decision.denied === true) return decision;
      if (decision.reason !== "") reasons.push(decision.reason);
      causes.push(decision.cause);
    }
    return { allowed: false, reason: reasons.join("\n"), cause: joined(causes) };
  }

  async rulesFor(user: UserInfo, namespace: string): ReturnType<Authorizer["rulesFor"]> {
    const all = await Promise.all(this.authorizers.map((authorizer) => authorizer.rulesFor(user, namespace)));
    const errors = all.flatMap((rules) => rules.evaluationError ?? []);
    return {
      resourceRules: all.flatMap((rules) => rules.resourceRules),
      nonResourceRules: all.flatMap((rules) => rules.nonResourceRules),
      incomplete: all.some((rules) => rules.incomplete),
      ...(errors.length === 0
        ? {}
        : { evaluationError: errors.length === 1 ? (errors[0] ?? "") : `[${errors.join(", ")}]` }),
    };
  }
}

function joined(causes: readonly AuthorizationCause[]): AuthorizationCause {
  const [first = "Privileged groups: the user is in none of them", ...others] = causes;
  return others.length === 0 ? first : `${first}; ${others.join("; ")}`;
}
