import type {
  AuthenticationResult,
  Authenticator,
  Credentials,
} from "../../../../staging/server/authentication/authenticator.js";
import { bearerToken } from "../../../../staging/server/authentication/bearer-token.js";
import type { ClientCertificateAuthenticator } from "../../../../staging/server/authentication/client-certificates.js";
import { ANONYMOUS, type UserInfo } from "../../../../staging/server/authentication/user.js";
import type { TokenAuthenticator } from "./token-authenticator.js";

const INVALID_BEARER_TOKEN = "invalid bearer token";

export interface RequestAuthenticatorDeps {
  readonly certificates: ClientCertificateAuthenticator;
  readonly tokens: TokenAuthenticator;
  readonly apiAudiences: readonly string[];
}

/**
 * Authenticates a request by client certificate, then by bearer token, then as anonymous.
 *
 * Mirrors k8s.io/apiserver/pkg/authentication/request/union/union.go under pkg/kubeapiserver/authenticator/config.go: the
 * first valid credential wins, even if another one is invalid; if all are invalid the request is refused, and only a
 * request without credentials is anonymous.
 */
export class RequestAuthenticator implements Authenticator {
  constructor(readonly deps: RequestAuthenticatorDeps) {}

  async authenticate(credentials: Credentials): Promise<AuthenticationResult> {
    const problems: string[] = [];
    if (credentials.clientCertificate !== undefined) {
      const result = this.deps.certificates.authenticate(credentials.clientCertificate);
      if (result?.outcome === "authenticated") return result;
      if (result !== undefined) problems.push(result.why);
    }
    const token = bearerToken(credentials.authorization);
    if (token !== undefined) {
      const result = await this.deps.tokens.authenticateToken(token, this.deps.apiAudiences);
      if (result.outcome === "authenticated") return { outcome: "authenticated", user: result.user, how: result.how };
      problems.push(result.why === undefined ? INVALID_BEARER_TOKEN : `${INVALID_BEARER_TOKEN} (${result.why})`);
    }
    if (problems.length > 0) return { outcome: "rejected", why: problems.join("; ") };
    return { outcome: "authenticated", user: ANONYMOUS, how: "no credentials" };
  }

  async authenticateToken(
    token: string,
    audiences: readonly string[] = [],
  ): Promise<{ user?: UserInfo; error?: string; audiences?: readonly string[] }> {
    const wanted = audiences.length === 0 ? this.deps.apiAudiences : audiences;
    const result = await this.deps.tokens.authenticateToken(token, wanted);
    if (result.outcome === "authenticated") return { user: result.user, audiences: result.audiences };
    // The reason why a bootstrap token is invalid would help an attacker, so it is not returned.
    return { error: result.outcome === "rejected" ? `[${INVALID_BEARER_TOKEN}, ${result.why}]` : INVALID_BEARER_TOKEN };
  }
}
