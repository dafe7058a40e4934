import type { KeyPair } from "../../staging/client-go/certificate/manager.js";
import { certificateProblem, parseCertificatePem } from "../../staging/pki/certificate.js";
import { DerError } from "../../staging/pki/der.js";
import { LabError } from "../../util/errors.js";
import type { CertificateStore } from "./certificate-store.js";
import { nodeSubject } from "./node-identity.js";

/** The node that the certificate must name. */
export interface CertificateOwner {
  readonly nodeName: string;
  /** of the cluster; undefined: the issuer is not verified */
  readonly caPem: string | undefined;
}

/**
 * Checks a pair without a kubeconfig: valid if this cluster's CA issued it to this node and it has not expired.
 * @throws LabError BAD_FILE
 */
export async function certificateLeftBehind(
  store: CertificateStore,
  owner: CertificateOwner,
  nowMs: number,
): Promise<KeyPair | undefined> {
  const pair = await store.current();
  if (pair === undefined || owner.caPem === undefined) return undefined;
  return isOf(owner, pair, nowMs) ? pair : undefined;
}

/** Reports whether the folder holds a certificate of this node, expired or not: then the existing Node is its own. */
export async function hasBeenThisNode(store: CertificateStore, owner: CertificateOwner): Promise<boolean> {
  try {
    const pair = await store.current();
    return pair !== undefined && isOf(owner, pair);
  } catch (error) {
    // --force, with damaged files: they prove nothing.
    if (error instanceof LabError) return false;
    throw error;
  }
}

/** @param nowMs when it must be valid; default: it may have expired. Without a CA, only the name is compared. */
function isOf({ nodeName, caPem }: CertificateOwner, { certificatePem }: KeyPair, nowMs?: number): boolean {
  try {
    const certificate = parseCertificatePem(certificatePem);
    if (certificate.subject.commonName !== nodeSubject(nodeName).commonName) return false;
    if (caPem === undefined) return true;
    const issuer = parseCertificatePem(caPem);
    const at = { issuer, nowMs: nowMs ?? certificate.notBeforeMs, purpose: "client auth" } as const;
    return certificateProblem(certificate, at) === undefined;
  } catch (error) {
    if (error instanceof DerError) return false; // Damaged: the kubelet requests a new one.
    throw error;
  }
}
