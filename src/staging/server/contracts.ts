import type { KubeObject } from "../apimachinery/api/meta.js";
import type { UserInfo } from "./authentication/user.js";

/** The credentials of a connection and a request. */
export interface Credentials {
  /** the Authorization header as sent */
  readonly authorization?: string;
  /** DER of the client certificate of the TLS connection, not verified yet: expiry is judged on every request */
  readonly clientCertificate?: Buffer;
}

export type AuthenticationResult =
  | {
      readonly outcome: "authenticated";
      readonly user: UserInfo /** for the trace: `client certificate CN=…` */;
      readonly how: string;
    }
  /** the request carries an invalid credential: 401 */
  | { readonly outcome: "rejected"; readonly why: string };

/** Never throws for an invalid credential; a request without one is `authenticated` as system:anonymous. */
export interface Authenticator {
  authenticate(credentials: Credentials): Promise<AuthenticationResult>;
  /** For TokenReview: `user` is undefined when no authenticator accepts the token. */
  authenticateToken(
    token: string,
    audiences?: readonly string[],
  ): Promise<{ user?: UserInfo; error?: string; audiences?: readonly string[] }>;
}

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

/** Mirrors admission.Attributes in k8s.io/apiserver/pkg/admission. */
export interface AdmissionAttributes {
  readonly user: UserInfo;
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** the object to be stored; undefined for DELETE. Mutating plugins return another one. */
  readonly object: KubeObject | undefined;
  readonly oldObject: KubeObject | undefined;
  readonly dryRun: boolean;
  /** the admitted request, for the trace; undefined for the server's own clients */
  readonly auditId?: string;
  /** the DELETE's options, or the body of a subresource such as eviction or token */
  readonly options?: KubeObject;
}

/** The properties of a write that are known before its object is decoded. */
export type AdmissionSubject = Pick<AdmissionAttributes, "operation" | "group" | "resource" | "subresource">;

/** Rejects by throwing a StatusError (usually 403). */
export interface AdmissionPlugin {
  /** upstream's name: `NodeRestriction`, `ServiceAccount`, `CertificateSubjectRestriction`, … */
  readonly name: string;
  /** Reports whether the plugin handles such writes; called once for each kind of write; absent: all. Mirrors Handles. */
  handles?(write: AdmissionSubject): boolean;
  /** @returns the object to continue with; synchronously if the plugin does not wait */
  admit?(attributes: AdmissionAttributes): KubeObject | undefined | Promise<KubeObject | undefined>;
  validate?(attributes: AdmissionAttributes): Promise<void>;
}
