import type { SecretObject } from "../../../staging/apimachinery/api/objects.js";
import {
  expirationMs,
  TOKEN_NAMESPACE,
  TOKEN_SECRET_TYPE,
  tokenField,
  tokenSecretName,
} from "../../../staging/cluster-bootstrap/secret.js";

export function isBootstrapToken(secret: SecretObject): boolean {
  return secret.type === TOKEN_SECRET_TYPE && secret.metadata.namespace === TOKEN_NAMESPACE;
}

/** Reports whether the token has expired. A time that is not RFC 3339 counts as expired. */
function hasExpired(secret: SecretObject, nowMs: number): boolean {
  const endMs = expirationMs(secret);
  return endMs !== undefined && !(endMs > nowMs);
}

/**
 * Returns the token if it can sign cluster-info: it is well-formed, not expired, and has the usage for signing.
 * Mirrors validateSecretForSigning in pkg/controller/bootstrap/util.go. Pure.
 */
export function signingToken(
  secret: SecretObject,
  nowMs: number,
): { readonly tokenId: string; readonly tokenSecret: string } | undefined {
  const tokenId = tokenField(secret, "token-id");
  const tokenSecret = tokenField(secret, "token-secret");
  if (tokenId === "" || tokenSecret === "" || secret.metadata.name !== tokenSecretName(tokenId)) return undefined;
  if (hasExpired(secret, nowMs)) return undefined;
  return tokenField(secret, "usage-bootstrap-signing") === "true" ? { tokenId, tokenSecret } : undefined;
}
