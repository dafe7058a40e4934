import { type KeyObject, sign, verify } from "node:crypto";
import { childrenOf, type DerNode, oidOf } from "./der.js";
import { nullValue, oid, sequence } from "./der-write.js";
import { readPublicKey } from "./keys.js";
import { OID } from "./oids.js";

interface SignatureScheme {
  /** undefined: the algorithm hashes by itself (Ed25519) */
  readonly hash: string | undefined;
  readonly keyType: "rsa" | "ec" | "ed25519";
}

/** The signature algorithms that Kubernetes supports; Go refuses those with SHA-1 as insecure. */
const SCHEMES: Readonly<Record<string, SignatureScheme>> = {
  [OID.sha256WithRSAEncryption]: { hash: "sha256", keyType: "rsa" },
  [OID.sha384WithRSAEncryption]: { hash: "sha384", keyType: "rsa" },
  [OID.sha512WithRSAEncryption]: { hash: "sha512", keyType: "rsa" },
  [OID["ecdsa-with-SHA256"]]: { hash: "sha256", keyType: "ec" },
  [OID["ecdsa-with-SHA384"]]: { hash: "sha384", keyType: "ec" },
  [OID["ecdsa-with-SHA512"]]: { hash: "sha512", keyType: "ec" },
  [OID.ed25519]: { hash: undefined, keyType: "ed25519" },
};

/** The algorithm a key signs with. Mirrors signingParamsForKey in Go's crypto/x509: the hash follows the curve. */
export function signatureAlgorithmFor(key: KeyObject): string {
  switch (key.asymmetricKeyType) {
    case "rsa":
      return OID.sha256WithRSAEncryption;
    case "ed25519":
      return OID.ed25519;
    case "ec": {
      const curve = key.asymmetricKeyDetails?.namedCurve;
      if (curve === "secp384r1") return OID["ecdsa-with-SHA384"];
      return curve === "secp521r1" ? OID["ecdsa-with-SHA512"] : OID["ecdsa-with-SHA256"];
    }
    default:
      throw new TypeError(`cannot sign with a key of type ${key.asymmetricKeyType ?? key.type}`);
  }
}

/** AlgorithmIdentifier: RSA has NULL as its parameters, the others have no parameters (RFC 3279, 5758, 8410). */
export function algorithmIdentifier(dotted: string): DerNode {
  return SCHEMES[dotted]?.keyType === "rsa" ? sequence(oid(dotted), nullValue()) : sequence(oid(dotted));
}

/** @returns the dotted OID of an AlgorithmIdentifier; "" for any other value */
export function algorithmOid(node: DerNode | undefined): string {
  return oidOf(childrenOf(node)[0]);
}

/** Signs with the hash of the algorithm. @param algorithm its dotted OID */
export function signBytes(algorithm: string, bytes: Buffer, key: KeyObject): Buffer {
  return sign(SCHEMES[algorithm]?.hash, bytes, key);
}

/** @returns undefined for a valid signature, otherwise Go's error text */
export function signatureProblem(
  algorithm: string,
  signed: Buffer,
  signature: Buffer,
  spkiDer: Buffer,
): string | undefined {
  const scheme = SCHEMES[algorithm];
  if (scheme === undefined) return "x509: cannot verify signature: algorithm unimplemented";
  const key = readPublicKey(spkiDer);
  if (key === undefined) return "x509: cannot verify signature: algorithm unimplemented";
  if (key.asymmetricKeyType !== scheme.keyType) {
    return `x509: signature algorithm specifies an ${scheme.keyType} public key, but have public key of type ${key.asymmetricKeyType}`;
  }
  if (verify(scheme.hash, signed, key, signature)) return undefined;
  switch (scheme.keyType) {
    case "rsa":
      return "crypto/rsa: verification error";
    case "ec":
      return "x509: ECDSA verification failure";
    case "ed25519":
      return "x509: Ed25519 verification failure";
  }
}
