import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { generatePrivateKey, parsePrivateKey, publicKeyDer } from "../../../pki/keys.js";
import { isRecord } from "../../../util/records.js";

/** Signs and checks the JSON Web Tokens of service accounts. Mirrors pkg/serviceaccount/jwt.go. */
export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** hash of the public key, base64url */
  readonly keyId: string;
  readonly algorithm: "RS256" | "ES256";
}

/**
 * A key that signs tokens.
 * @param source PEM of an EC P-256 or RSA key; or which kind is to be made: to find an RSA key takes up to a second and more
 */
export async function makeSigningKey(source: { readonly pem: string } | "ec" | "rsa"): Promise<SigningKey> {
  const privateKey = typeof source === "string" ? await generatePrivateKey(source) : parsePrivateKey(source.pem);
  if (privateKey === undefined) throw new Error("the key for service account tokens is not readable");
  return {
    privateKey,
    publicKey: createPublicKey(privateKey),
    keyId: createHash("sha256").update(publicKeyDer(privateKey)).digest("base64url"),
    algorithm: privateKey.asymmetricKeyType === "ec" ? "ES256" : "RS256",
  };
}

/** A token taken apart; nothing in it is to be trusted before its signature is checked. */
export interface Jwt {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly signed: string;
  readonly signature: Buffer;
}

/** @returns undefined for what is no compact JWT */
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

/** The algorithm is the key's own: what the header says only has to agree. @returns why it is bad, or undefined */
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
    return undefined; // Not JSON: no token of ours.
  }
}
