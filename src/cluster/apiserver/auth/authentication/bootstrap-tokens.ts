import { timingSafeEqual } from "node:crypto";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { FROM_CACHE } from "../../../../staging/apimachinery/api/options.js";
import { StatusError } from "../../../../staging/apimachinery/errors.js";
import {
  expirationMs,
  GROUP_PATTERN,
  TOKEN_NAMESPACE,
  TOKEN_SECRET_TYPE,
  tokenField,
  tokenSecretName,
} from "../../../../staging/cluster-bootstrap/secret.js";
import { TOKEN_PATTERN } from "../../../../staging/cluster-bootstrap/token.js";
import { asAuthenticated } from "../../../../staging/server/authentication/user.js";
import type { Clock } from "../../../../util/clock.js";
import type { Registry } from "../../registry/rest/registry.js";
import { commonAudiences, type TokenAuthenticator, type TokenResult } from "./token-authenticator.js";

const BOOTSTRAP_GROUP = "system:bootstrappers";

export interface BootstrapTokenDeps {
  readonly registry: () => Registry;
  readonly clock: Clock;
  readonly apiAudiences: readonly string[];
}

/**
 * Authenticates bootstrap tokens by their secret in kube-system. A token with an invalid secret is reported as unknown.
 *
 * Mirrors plugin/pkg/auth/authenticator/token/bootstrap/bootstrap.go (AuthenticateToken).
 */
export class BootstrapTokenAuthenticator implements TokenAuthenticator {
  constructor(readonly deps: BootstrapTokenDeps) {}

  async authenticateToken(token: string, audiences: readonly string[]): Promise<TokenResult> {
    const common = commonAudiences(this.deps.apiAudiences, audiences);
    const [, id, tokenSecret] = TOKEN_PATTERN.exec(token) ?? [];
    if (id === undefined || tokenSecret === undefined || common.length === 0) return { outcome: "unknown" };
    const secret = await this.#secret(id);
    if (secret === undefined) return unknown(id, "the token does not exist");
    const groups = bootstrapGroups(secret);
    const problem = tokenProblem(secret, id, tokenSecret, this.deps.clock.now());
    if (problem !== undefined) return unknown(id, problem);
    if (groups === undefined)
      return unknown(id, "one of its auth-extra-groups does not begin with system:bootstrappers:");
    const user = asAuthenticated({ username: `system:bootstrap:${id}`, groups });
    return { outcome: "authenticated", user, audiences: common, how: `bootstrap token ${id}` };
  }

  async #secret(id: string): Promise<KubeObject | undefined> {
    try {
      return await this.deps.registry().store("secrets").get(TOKEN_NAMESPACE, tokenSecretName(id), FROM_CACHE);
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  }
}

function unknown(id: string, problem: string): TokenResult {
  return { outcome: "unknown", why: `bootstrap token ${id}: ${problem}` };
}

/** @returns why the secret does not make this token valid, or undefined */
function tokenProblem(secret: KubeObject, id: string, tokenSecret: string, nowMs: number): string | undefined {
  if (secret.metadata.deletionTimestamp !== undefined) return "its secret is being deleted";
  if (secret["type"] !== TOKEN_SECRET_TYPE) return `its secret is not of type ${TOKEN_SECRET_TYPE}`;
  if (!isEqualInConstantTime(tokenField(secret, "token-secret"), tokenSecret))
    return "the secret half of the token is wrong";
  if (tokenField(secret, "token-id") !== id) return "its secret has a different token-id";
  const expiresAtMs = expirationMs(secret);
  if (Number.isNaN(expiresAtMs)) return "its expiration is not an RFC 3339 time";
  if (expiresAtMs !== undefined && nowMs > expiresAtMs) return `it expired at ${tokenField(secret, "expiration")}`;
  if (tokenField(secret, "usage-bootstrap-authentication") !== "true")
    return "usage-bootstrap-authentication is not true";
  return undefined;
}

/** Mirrors k8s.io/cluster-bootstrap/token/util/helpers.go (GetGroups). @returns undefined when a group is not allowed */
function bootstrapGroups(secret: KubeObject): string[] | undefined {
  const groups = new Set([BOOTSTRAP_GROUP]);
  const extra = tokenField(secret, "auth-extra-groups");
  if (extra !== "") {
    for (const group of extra.split(",")) {
      if (!GROUP_PATTERN.test(group)) return undefined;
      groups.add(group);
    }
  }
  return [...groups].sort();
}

/** The duration only reveals the length, which is the same for all token secrets. */
function isEqualInConstantTime(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
