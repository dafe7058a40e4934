import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * Signs `content` with a bootstrap token: a JWS without its content (RFC 7515, appendix F). A client that has the token
 * can verify that cluster-info comes from a server that has it too.
 *
 * Mirrors ComputeDetachedSignature in k8s.io/cluster-bootstrap/token/jws/jws.go.
 *
 * @returns `<header>..<signature>`
 */
export function detachedSignature(content: string, tokenId: string, tokenSecret: string): string {
  const header = base64url(JSON.stringify({ alg: "HS256", kid: tokenId }));
  return `${header}..${hmac(header, content, tokenSecret).toString("base64url")}`;
}

/**
 * Verifies a detached signature: HS256, the key is the secret half of the token, and the header contains the token's id.
 *
 * Mirrors DetachedTokenIsValid in k8s.io/cluster-bootstrap/token/jws/jws.go.
 */
export function detachedJwsIsValid(jws: string, content: string, tokenId: string, tokenSecret: string): boolean {
  const [header, middle, signature, ...more] = jws.split(".");
  if (header === undefined || middle !== "" || signature === undefined || more.length > 0) return false;
  if (!isHeaderOf(header, tokenId)) return false;
  const wanted = hmac(header, content, tokenSecret);
  const seen = Buffer.from(signature, "base64url");
  return seen.length === wanted.length && timingSafeEqual(seen, wanted);
}

function hmac(header: string, content: string, tokenSecret: string): Buffer {
  return createHmac("sha256", tokenSecret)
    .update(`${header}.${base64url(content)}`)
    .digest();
}

function base64url(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}

function isHeaderOf(header: string, tokenId: string): boolean {
  try {
    const { alg, kid } = JSON.parse(Buffer.from(header, "base64url").toString("utf8")) as Record<string, unknown>;
    return alg === "HS256" && kid === tokenId;
  } catch {
    return false; // Not JSON, so not a header.
  }
}
