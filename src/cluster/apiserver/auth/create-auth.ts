import type { CertificateAuthority } from "../../../staging/pki/issue.js";
import type { Authenticator } from "../../../staging/server/authentication/authenticator.js";
import { ClientCertificateAuthenticator } from "../../../staging/server/authentication/client-certificates.js";
import type { Authorizer } from "../../../staging/server/authorization/authorizer.js";
import type { Clock } from "../../../util/clock.js";
import type { Random } from "../../../util/random.js";
import { factFor, OLDEST_RELEASE } from "../../../util/release/facts.js";
import type { ActionHandlers } from "../registry/rest/action.js";
import type { Registry } from "../registry/rest/registry.js";
import { BootstrapTokenAuthenticator } from "./authentication/bootstrap-tokens.js";
import { RequestAuthenticator } from "./authentication/request-authenticator.js";
import { ServiceAccountTokens } from "./authentication/service-account-tokens.js";
import { TokenCache } from "./authentication/token-cache.js";
import { NodeAuthorizer } from "./authorization/node-authorizer.js";
import { NodeGraph } from "./authorization/node-graph.js";
import { RbacAuthorizer } from "./authorization/rbac.js";
import { UnionAuthorizer } from "./authorization/union.js";
import type { ObjectView } from "./object-view.js";
import { nodeRules } from "./policy/bootstrap-policy.js";
import { reviewHandlers } from "./reviews.js";

/** `--service-account-issuer` and `--api-audiences` */
const DEFAULT_ISSUER = "https://kubernetes.default.svc";

export interface AuthDeps {
  /** a function, because the registry needs the admission plugins, which read the registry later */
  readonly registry: () => Registry;
  /** the CA of client certificates */
  readonly ca: Pick<CertificateAuthority, "certificatePem">;
  readonly clock: Clock;
  readonly random: Random;
  /** default: the oldest supported release */
  readonly kubeVersion?: string;
}

export interface AuthOptions {
  readonly issuer?: string;
  /** PEM; absent: a key is generated for the first service account token */
  readonly serviceAccountKeyPem?: string;
  /** of the generated key; default `ec` */
  readonly serviceAccountKeyType?: "ec" | "rsa";
}

/** Authentication and authorization. */
export interface Auth {
  readonly authenticator: Authenticator;
  /** system:masters, then Node, then RBAC */
  readonly authorizer: Authorizer;
  /** the roles behind it, for admission */
  readonly rbac: RbacAuthorizer;
  /** TokenReview, the access reviews, SelfSubjectRulesReview, SelfSubjectReview */
  readonly handlers: ActionHandlers;
  /** the objects that authorization reads */
  readonly views: readonly ObjectView[];
  /** issues service account tokens; OIDC discovery */
  readonly tokens: ServiceAccountTokens;
  /** Follows roles, bindings and pods. Resolves when the stored ones are in force. Requires the registry. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/** Builds authentication and authorization. Reads nothing before `ready` or the first request. */
export function createAuth(deps: AuthDeps, options: AuthOptions = {}): Auth {
  const { registry, ca, clock, random, kubeVersion = OLDEST_RELEASE } = deps;
  const issuer = options.issuer ?? DEFAULT_ISSUER;
  const apiAudiences = [issuer];
  const tokens = new ServiceAccountTokens({
    registry,
    clock,
    random,
    kubeVersion,
    issuer,
    apiAudiences,
    keyType: options.serviceAccountKeyType ?? "ec",
    ...(options.serviceAccountKeyPem === undefined ? {} : { privateKeyPem: options.serviceAccountKeyPem }),
  });
  const bootstrapTokens = new BootstrapTokenAuthenticator({ registry, clock, apiAudiences });
  const authenticator = new RequestAuthenticator({
    certificates: new ClientCertificateAuthenticator(ca.certificatePem, clock),
    tokens: new TokenCache([tokens, bootstrapTokens], factFor("tokenCacheTtl", kubeVersion), clock, random),
    apiAudiences,
  });

  const rbac = new RbacAuthorizer({ registry, clock });
  const graph = new NodeGraph({ registry, clock });
  const withSelectors = factFor("authorizeNodeWithSelectors", kubeVersion);
  const authorizer = new UnionAuthorizer([new NodeAuthorizer(graph, nodeRules(), { withSelectors }), rbac]);
  const views = [...rbac.views, graph.pods];
  const stop = new AbortController();
  let following: readonly Promise<void>[] = [];

  return {
    authenticator,
    authorizer,
    rbac,
    handlers: reviewHandlers(authenticator, authorizer),
    tokens,
    views,
    async ready() {
      if (following.length === 0) following = views.map((view) => view.follow(stop.signal));
      await Promise.all(views.map((view) => view.catchUp()));
    },
    async close() {
      stop.abort();
      await Promise.all(following);
    },
  };
}
