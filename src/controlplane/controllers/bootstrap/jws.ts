import { createHmac } from "node:crypto";

/**
 * A JWS over `content` with the content left out (RFC 7515, appendix F): whoever knows the token's secret half can tell
 * that cluster-info comes from someone who knows it too.
 *
 * Mirrors ComputeDetachedSignature in k8s.io/cluster-bootstrap/token/jws/jws.go.
 *
 * @returns `<header>..<signature>`
 */
export function detachedSignature(content: string, tokenId: string, tokenSecret: string): string {
  const header = base64url(JSON.stringify({ alg: "HS256", kid: tokenId }));
  const signature = createHmac("sha256", tokenSecret)
    .update(`${header}.${base64url(content)}`)
    .digest("base64url");
  return `${header}..${signature}`;
}

function base64url(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}
