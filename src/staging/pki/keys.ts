import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject, X509Certificate } from "node:crypto";
import { promisify } from "node:util";
import { elsewhere } from "../../util/os/event-loop.js";
import { decodePem } from "./pem.js";

const generate = promisify(generateKeyPair);

/** The keys that kubelab creates: ECDSA P-256 like the kubelet, or RSA 2048 like kubeadm. */
export type KeyType = "ec" | "rsa";

/** Generates a private key. RSA takes about 0.1 s in a thread of its own. */
export async function generatePrivateKey(type: KeyType): Promise<KeyObject> {
  const generating =
    type === "ec"
      ? generate("ec", { namedCurve: "P-256" })
      : generate("rsa", { modulusLength: 2048, publicExponent: 0x10001 });
  return (await elsewhere(generating)).privateKey;
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
    return undefined; // Not a key, damaged or encrypted: the caller knows the file's name.
  }
}

/** The SubjectPublicKeyInfo (DER) of a private key. */
export function publicKeyDer(privateKey: KeyObject): Buffer {
  return createPublicKey(privateKey).export({ format: "der", type: "spki" });
}

/** A description of a public key. */
export interface PublicKeyFacts {
  readonly algorithm: "RSA" | "ECDSA" | "Ed25519" | "other";
  /** `ECDSA P-256`, `RSA 2048`, `Ed25519` */
  readonly text: string;
}

const CURVES: Readonly<Record<string, string>> = { prime256v1: "P-256", secp384r1: "P-384", secp521r1: "P-521" };

/** @param spkiDer a SubjectPublicKeyInfo; `other` when it cannot be read */
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
    return undefined; // An unsupported kind of key is a fact about the request, not a failure.
  }
}

/**
 * True when the private key belongs to the first certificate of a PEM text.
 *
 * Mirrors the check of tls.X509KeyPair in Go's crypto/tls.
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
