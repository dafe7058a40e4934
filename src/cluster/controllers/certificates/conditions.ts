import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from "../../../staging/apimachinery/api/certificates.js";

/**
 * Adds a condition to the request, unless it already has one of this type.
 * The API server sets the times when it stores the change.
 */
export function withCondition(
  csr: CertificateSigningRequest,
  condition: Omit<CertificateSigningRequestCondition, "status">,
): CertificateSigningRequest {
  const conditions = csr.status?.conditions ?? [];
  if (conditions.some((one) => one.type === condition.type)) return csr;
  return { ...csr, status: { ...csr.status, conditions: [...conditions, { ...condition, status: "True" }] } };
}
