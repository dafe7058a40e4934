import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from "../../../apimachinery/api/certificates.js";

/**
 * The request with one more condition, unless it has one of this type already (somebody was faster).
 * Times are left to the API server, which stamps them when it stores the change.
 */
export function withCondition(
  csr: CertificateSigningRequest,
  condition: Omit<CertificateSigningRequestCondition, "status">,
): CertificateSigningRequest {
  const conditions = csr.status?.conditions ?? [];
  if (conditions.some((one) => one.type === condition.type)) return csr;
  return { ...csr, status: { ...csr.status, conditions: [...conditions, { ...condition, status: "True" }] } };
}
