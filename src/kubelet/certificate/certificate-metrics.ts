import type { CertificateConfig } from "../../staging/client-go/certificate/manager.js";
import { parseCertificatePem } from "../../staging/pki/certificate.js";
import type { KubeletMetrics } from "../metrics/kubelet-metrics.js";

/**
 * How long a certificate is still valid, in whole seconds; negative: it has expired; infinite: there is none.
 * Mirrors the gauges of cmd/kubelet/app/server.go (buildKubeletClientConfig) and pkg/kubelet/certificate/kubelet.go.
 */
export function ttlSeconds(certificatePem: string | undefined, nowMs: number): number {
  if (certificatePem === undefined) return Number.POSITIVE_INFINITY;
  return Math.trunc((parseCertificatePem(certificatePem).notAfterMs - nowMs) / 1000);
}

/** Counts failed renewals of the client certificate. */
export function clientCertificateMetrics(metrics: KubeletMetrics): NonNullable<CertificateConfig["metrics"]> {
  return { renewFailed: () => metrics.add("kubelet_certificate_manager_client_expiration_renew_errors") };
}

/** Counts failed renewals of the serving certificate, and how old each became. */
export function servingCertificateMetrics(metrics: KubeletMetrics): NonNullable<CertificateConfig["metrics"]> {
  return {
    renewFailed: () => metrics.add("kubelet_server_expiration_renew_errors"),
    rotated: (ageMs) => metrics.observe("kubelet_certificate_manager_server_rotation_seconds", ageMs),
  };
}
