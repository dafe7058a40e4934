import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * Verifies the signature that a bootstrap token put under the kubeconfig of cluster-info.
 *
 * A detached JWS: `<header>..<signature>`, with the content left out between the dots. HS256, the key is the token's
 * secret half, the header names the token's id.
 *
 * Mirrors k8s.io/cluster-bootstrap/token/jws (DetachedTokenIsValid).
 */
export function detachedJwsIsValid(jws: string, content: string, tokenId: string, tokenSecret: string): boolean {
  const [header, middle, signature, ...more] = jws.split(".");
  if (header === undefined || middle !== "" || signature === undefined || more.length > 0) return false;
  if (!isOurHeader(header, tokenId)) return false;
  const payload = Buffer.from(content).toString("base64url");
  const wanted = createHmac("sha256", tokenSecret).update(`${header}.${payload}`).digest();
  const seen = Buffer.from(signature, "base64url");
  return seen.length === wanted.length && timingSafeEqual(seen, wanted);
}

function isOurHeader(header: string, tokenId: string): boolean {
  try {
    const { alg, kid } = JSON.parse(Buffer.from(header, "base64url").toString("utf8")) as Record<string, unknown>;
    return alg === "HS256" && kid === tokenId;
  } catch {
    return false; // No JSON: somebody else's bytes.
  }
}
