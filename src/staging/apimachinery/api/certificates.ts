import type { V1CertificateSigningRequest, V1CertificateSigningRequestCondition } from "@kubernetes/client-node";
import type { Wire } from "../wire.js";

/** certificates.k8s.io/v1, cluster-scoped. `spec.request` and `status.certificate` are base64 of PEM. */
export type CertificateSigningRequest = Wire<V1CertificateSigningRequest>;
export type CertificateSigningRequestCondition = Wire<V1CertificateSigningRequestCondition>;

type ConditionType = "Approved" | "Denied" | "Failed";

/** Returns the condition of this type unless it is absent or False. */
export function csrCondition(
  csr: CertificateSigningRequest,
  type: ConditionType,
): CertificateSigningRequestCondition | undefined {
  return csr.status?.conditions?.find((one) => one.type === type && one.status !== "False");
}

/** Reports whether the signer has issued the certificate. */
export function isIssued(csr: CertificateSigningRequest): boolean {
  return (csr.status?.certificate ?? "") !== "";
}

/**
 * Signers handle a request only when it is approved and not denied.
 *
 * Mirrors pkg/controller/certificates/certificate_controller_utils.go (IsCertificateRequestApproved).
 */
export function isApproved(csr: CertificateSigningRequest): boolean {
  return csrCondition(csr, "Approved") !== undefined && csrCondition(csr, "Denied") === undefined;
}

/**
 * `Pending`, `Approved,Issued`, `Denied`, `Approved,Failed`, …
 *
 * Mirrors pkg/printers/internalversion/printers.go (extractCSRStatus).
 */
export function csrState(csr: CertificateSigningRequest): string {
  const words: string[] = [];
  if (csrCondition(csr, "Denied") !== undefined) words.push("Denied");
  else words.push(csrCondition(csr, "Approved") === undefined ? "Pending" : "Approved");
  if (csrCondition(csr, "Failed") !== undefined) words.push("Failed");
  if (isIssued(csr)) words.push("Issued");
  return words.join(",");
}

/** The PEM inside spec.request or status.certificate. */
export function base64Text(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8");
}
