import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject, X509Certificate } from "node:crypto";
import { promisify } from "node:util";
import { decodePem } from "./pem.js";

const generate = promisify(generateKeyPair);

/** What kubelab makes: ECDSA on P-256 as the kubelet does, or RSA 2048 as kubeadm did for the cluster's own. */
export type KeyType = "ec" | "rsa";

/** A new private key, from the operating system's randomness. RSA takes some 0.1 s of another thread. */
export async function generatePrivateKey(type: KeyType): Promise<KeyObject> {
  const pair =
    type === "ec"
      ? await generate("ec", { namedCurve: "P-256" })
      : await generate("rsa", { modulusLength: 2048, publicExponent: 0x10001 });
  return pair.privateKey;
}

/**
 * PEM as upstream writes it: `EC PRIVATE KEY` (SEC 1), `RSA PRIVATE KEY` (PKCS#1), anything else PKCS#8.
 *
 * Mirrors k8s.io/client-go/util/keyutil/key.go (MarshalPrivateKeyToPEM).
 */
export function privateKeyPem(key: KeyObject): string {
  const type = key.asymmetricKeyType === "ec" ? "sec1" : key.asymmetricKeyType === "rsa" ? "pkcs1" : "pkcs8";
  return key.export({ format: "pem", type }).toString();
}

/** @returns undefined when the text holds no readable private key */
export function parsePrivateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined; // Not a key, damaged or encrypted: the caller says which file that was.
  }
}

/** The SubjectPublicKeyInfo (DER) of a private key. */
export function publicKeyDer(privateKey: KeyObject): Buffer {
  return createPublicKey(privateKey).export({ format: "der", type: "spki" });
}

/** A public key in words, for people and rules. */
export interface PublicKeyFacts {
  readonly algorithm: "RSA" | "ECDSA" | "Ed25519" | "other";
  /** `ECDSA P-256`, `RSA 2048`, `Ed25519` */
  readonly text: string;
}

const CURVES: Readonly<Record<string, string>> = { prime256v1: "P-256", secp384r1: "P-384", secp521r1: "P-521" };

/** @param spkiDer a SubjectPublicKeyInfo; one that cannot be read is `other` */
export function publicKeyFacts(spkiDer: Buffer): PublicKeyFacts {
  const key = readPublicKey(spkiDer);
  const details = key?.asymmetricKeyDetails;
  switch (key?.asymmetricKeyType) {
    case "rsa":
      return { algorithm: "RSA", text: `RSA ${details?.modulusLength ?? "of unknown length"}` };
    case "ec": {
      const curve = details?.namedCurve ?? "unknown curve";
      return { algorithm: "ECDSA", text: `ECDSA ${CURVES[curve] ?? curve}` };
    }
    case "ed25519":
      return { algorithm: "Ed25519", text: "Ed25519" };
    default:
      return { algorithm: "other", text: key?.asymmetricKeyType ?? "unreadable key" };
  }
}

/** @returns undefined when OpenSSL does not know this kind of key */
export function readPublicKey(spkiDer: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: spkiDer, format: "der", type: "spki" });
  } catch {
    return undefined; // A key kind that this Node cannot handle is a fact about the request, not a failure.
  }
}

/**
 * Does this private key belong to the first certificate of this PEM text?
 *
 * Mirrors what tls.X509KeyPair in Go's crypto/tls checks before a pair is used.
 */
export function keyMatchesCertificate(keyPem: string, certificatePem: string): boolean {
  const key = parsePrivateKey(keyPem);
  const block = decodePem(certificatePem).find(({ type }) => type === "CERTIFICATE");
  if (key === undefined || block === undefined) return false;
  try {
    return new X509Certificate(block.der).checkPrivateKey(key);
  } catch {
    return false; // A damaged certificate matches no key.
  }
}
