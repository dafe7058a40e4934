import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { generatePrivateKey, parsePrivateKey, publicKeyDer } from "../../../../staging/pki/keys.js";
import { isRecord } from "../../../../util/records.js";

/** Signs and verifies the JSON Web Tokens of service accounts. Mirrors pkg/serviceaccount/jwt.go. */
export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** hash of the public key, base64url */
  readonly keyId: string;
  readonly algorithm: "RS256" | "ES256";
}

/**
 * A key that signs tokens.
 * @param source PEM of an EC P-256 or RSA key, or the type of a key to generate; an RSA key can take more than a second
 */
export async function makeSigningKey(source: { readonly pem: string } | "ec" | "rsa"): Promise<SigningKey> {
  const privateKey = typeof source === "string" ? await generatePrivateKey(source) : parsePrivateKey(source.pem);
  if (privateKey === undefined) throw new Error("cannot parse the key for service account tokens");
  return {
    privateKey,
    publicKey: createPublicKey(privateKey),
    keyId: createHash("sha256").update(publicKeyDer(privateKey)).digest("base64url"),
    algorithm: privateKey.asymmetricKeyType === "ec" ? "ES256" : "RS256",
  };
}

/** A parsed token. Its contents are not trusted until its signature is verified. */
export interface Jwt {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly signed: string;
  readonly signature: Buffer;
}

/** @returns undefined for text that is not a compact JWT */
export function parseJwt(token: string): Jwt | undefined {
  const [header, claims, signature, rest] = token.split(".");
  if (header === undefined || claims === undefined || signature === undefined || rest !== undefined) return undefined;
  const [headerJson, claimsJson] = [decodeJson(header), decodeJson(claims)];
  if (headerJson === undefined || claimsJson === undefined) return undefined;
  const signatureBytes = Buffer.from(signature, "base64url");
  return { header: headerJson, claims: claimsJson, signed: `${header}.${claims}`, signature: signatureBytes };
}

/** @returns the compact form */
export function signJwt(claims: Readonly<Record<string, unknown>>, key: SigningKey): string {
  const signed = `${encodeJson({ alg: key.algorithm, kid: key.keyId })}.${encodeJson(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), { key: key.privateKey, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

/** The key determines the algorithm; the header only has to agree. @returns why the signature is bad, or undefined */
export function jwtSignatureProblem({ header, signed, signature }: Jwt, key: SigningKey): string | undefined {
  if (header["kid"] !== key.keyId) return "invalid signature, no keys found";
  const isGood =
    header["alg"] === key.algorithm &&
    verify("sha256", Buffer.from(signed), { key: key.publicKey, dsaEncoding: "ieee-p1363" }, signature);
  return isGood ? undefined : "square/go-jose: error in cryptographic primitive";
}

function encodeJson(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function decodeJson(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined; // Not JSON, so not one of our tokens.
  }
}
