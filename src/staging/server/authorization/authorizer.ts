import type { UserInfo } from "../authentication/user.js";

/** Mirrors authorizer.Attributes in k8s.io/apiserver/pkg/authorization/authorizer. */
export interface AuthorizationAttributes {
  readonly user: UserInfo;
  /** get list watch create update patch delete deletecollection …, or the lower-case HTTP method for a non-resource path */
  readonly verb: string;
  readonly isResourceRequest: boolean;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** for non-resource requests, and always the full URL path */
  readonly path: string;
  /** of a list or watch, as sent, "" if absent; undefined when the caller does not know it */
  readonly fieldSelector?: string;
}

export interface AuthorizationDecision {
  readonly allowed: boolean;
  /** true: later authorizers are not called */
  readonly denied?: boolean;
  /** upstream's text, sent to clients in a 403 and in reviews; upstream leaves many of them empty */
  readonly reason: string;
  /** for the trace */
  readonly cause: AuthorizationCause;
}

/**
 * Which authorizer decided, and from what. Never empty:
 * `RBAC: allowed by ClusterRoleBinding "x" of ClusterRole "y" to Group "z"`, `Node: node n1 -> pod a/p -> secret a/s`.
 */
export type AuthorizationCause = `${"Privileged groups" | "Node" | "RBAC"}: ${string}`;

export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface NonResourceRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface Authorizer {
  authorize(attributes: AuthorizationAttributes): Promise<AuthorizationDecision>;
  /** For SelfSubjectRulesReview. */
  rulesFor(
    user: UserInfo,
    namespace: string,
  ): Promise<{
    resourceRules: ResourceRule[];
    nonResourceRules: NonResourceRule[];
    incomplete: boolean;
    evaluationError?: string;
  }>;
}
