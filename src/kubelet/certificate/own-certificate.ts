import type { KeyPair } from "../../client-go/certificate/manager.js";
import { certificateProblem, parseCertificatePem } from "../../pki/certificate.js";
import { DerError } from "../../pki/der.js";
import { LabError } from "../../util/errors.js";
import type { CertificateStore } from "./certificate-store.js";
import { nodeSubject } from "./node-identity.js";

/** Whose certificate it should be. */
export interface CertificateOwner {
  readonly nodeName: string;
  /** of the cluster; undefined: it is not verified */
  readonly caPem: string | undefined;
}

/**
 * A pair without a kubeconfig: good if this cluster's CA issued it to this node and it has not expired.
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

/** Whether the folder holds what only this node was given: with it, expired or not, it comes back to its own Node. */
export async function hasBeenThisNode(store: CertificateStore, owner: CertificateOwner): Promise<boolean> {
  try {
    const pair = await store.current();
    return pair !== undefined && isOf(owner, pair);
  } catch (error) {
    // --force, with files that are damaged: they prove nothing.
    if (error instanceof LabError) return false;
    throw error;
  }
}

/** @param nowMs when it must be valid; default: it may have expired. Without a CA to check it by, the name counts. */
function isOf({ nodeName, caPem }: CertificateOwner, { certificatePem }: KeyPair, nowMs?: number): boolean {
  try {
    const certificate = parseCertificatePem(certificatePem);
    if (certificate.subject.commonName !== nodeSubject(nodeName).commonName) return false;
    if (caPem === undefined) return true;
    const issuer = parseCertificatePem(caPem);
    const at = { issuer, nowMs: nowMs ?? certificate.notBeforeMs, purpose: "client auth" } as const;
    return certificateProblem(certificate, at) === undefined;
  } catch (error) {
    if (error instanceof DerError) return false; // Damaged: a new one is asked for.
    throw error;
  }
}
