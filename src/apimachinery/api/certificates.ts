import type { KubeObject, ObjectMeta } from "./meta.js";

/** `Approved`, `Denied`, `Failed`, or whatever an outside signer adds. */
export interface CertificateSigningRequestCondition {
  readonly type: string;
  /** Approved, Denied and Failed can only be `True` */
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastUpdateTime?: string | null;
  readonly lastTransitionTime?: string | null;
}

export interface CertificateSigningRequestSpec {
  /** base64 of PEM */
  readonly request: string;
  readonly signerName: string;
  readonly expirationSeconds?: number;
  readonly usages?: readonly string[];
  /** who created it: written by the API server, whatever the requester sends */
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface CertificateSigningRequestStatus {
  readonly conditions?: readonly CertificateSigningRequestCondition[];
  /** base64 of PEM */
  readonly certificate?: string;
}

/** certificates.k8s.io/v1, cluster-scoped. */
export interface CertificateSigningRequest extends KubeObject {
  readonly metadata: ObjectMeta;
  readonly spec: CertificateSigningRequestSpec;
  readonly status?: CertificateSigningRequestStatus;
}

type ConditionType = "Approved" | "Denied" | "Failed";

/** The condition of this type, when it is there and not taken back. */
export function csrCondition(
  csr: CertificateSigningRequest,
  type: ConditionType,
): CertificateSigningRequestCondition | undefined {
  return csr.status?.conditions?.find((one) => one.type === type && one.status !== "False");
}

/** Whether the certificate is there. */
export function isIssued(csr: CertificateSigningRequest): boolean {
  return (csr.status?.certificate ?? "") !== "";
}

/**
 * Approved and not denied: only then a signer may look at it.
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
