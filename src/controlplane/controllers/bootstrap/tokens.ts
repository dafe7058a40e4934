import type { SecretObject } from "../support/objects.js";

/** Mirrors k8s.io/cluster-bootstrap/token/api/types.go and its util/secrets. */
const TOKEN_NAMESPACE = "kube-system";
const SECRET_TYPE = "bootstrap.kubernetes.io/token";
const SECRET_PREFIX = "bootstrap-token-";

export function isBootstrapToken(secret: SecretObject): boolean {
  return secret.type === SECRET_TYPE && secret.metadata.namespace === TOKEN_NAMESPACE;
}

/** A value of the secret as text; "" when it is not there. */
function tokenField(secret: SecretObject, key: string): string {
  const value = secret.data?.[key];
  return value === undefined ? "" : Buffer.from(value, "base64").toString("utf8");
}

/**
 * When the token expires. Mirrors GetExpiration.
 * @returns Unix ms; undefined: never. A time that cannot be read counts as long ago.
 */
export function expirationMs(secret: SecretObject): number | undefined {
  const text = tokenField(secret, "expiration");
  if (text === "") return undefined;
  const ms = RFC3339.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? 0 : ms;
}

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/**
 * The token, when it may sign cluster-info: well-formed, not expired, and made for that use.
 * Mirrors validateSecretForSigning in pkg/controller/bootstrap/util.go. Pure.
 */
export function signingToken(
  secret: SecretObject,
  nowMs: number,
): { readonly tokenId: string; readonly tokenSecret: string } | undefined {
  const tokenId = tokenField(secret, "token-id");
  const tokenSecret = tokenField(secret, "token-secret");
  if (tokenId === "" || tokenSecret === "" || secret.metadata.name !== `${SECRET_PREFIX}${tokenId}`) return undefined;
  const endMs = expirationMs(secret);
  if (endMs !== undefined && endMs <= nowMs) return undefined;
  return tokenField(secret, "usage-bootstrap-signing") === "true" ? { tokenId, tokenSecret } : undefined;
}
